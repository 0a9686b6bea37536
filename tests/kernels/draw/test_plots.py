"""kernels.draw.records.plots. The timings are made up, for a GPU that does not exist."""

from __future__ import annotations

import importlib
import itertools
import re
import types
import xml.etree.ElementTree as ET

import pytest
from drawn import timed

from anywarp.draw.figure import text_colour
from kernels.draw import PALETTE, bars, gflops, roofline
from kernels.records import Record, Results


def made_up(rates, gpu="Simulated GPU 1", peak=10.0, recorded=True):
    """Results with the given TFLOPS: {step: {size: rate}}."""
    return timed(rates, gpu, peak, recorded, copy=500.0, slowest=1.1)


RATES = {"cublas": {64: 4.0, 256: 8.0}, "01_slow": {64: 0.1}, "02_fast": {64: 3.0, 256: 6.0}}


def texts(figure):
    """The words of a picture with their positions: {text: (x, y)}."""
    found = {}
    for element in ET.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text"):
        place = re.search(
            r"translate\(([\d.]+) ([\d.]+)\)|rotate\(-0 ([\d.]+) ([\d.]+)\)",
            element.get("transform", ""),
        )
        place = [float(x) for x in place.groups() if x] if place else None
        found[element.text] = place or (float(element.get("x", 0)), float(element.get("y", 0)))
    return found


def test_gflops_labels_curves_roof_sizes_and_source():
    figure = gflops(made_up(RATES), ["01_slow", "02_fast"])
    words = texts(figure)
    for text in (
        "cuBLAS",
        "01 slow",
        "02 fast",
        "FMA peak: 10",
        "64",
        "256",
        "M = N = K",
        "TFLOPS",
        "recorded on Simulated GPU 1, 2001-02-03",
    ):
        assert text in words, text
    assert "recorded on Simulated GPU 1, 2001-02-03" in figure.alt
    assert "Recorded on Simulated GPU 1, 2001-02-03" in figure.caption
    assert "FMA peak 10" in figure.alt and "02 fast: 3 at 64 to 6 at 256" in figure.alt
    assert "01 slow: 0.1 at 64." in figure.alt


def test_gflops_puts_labels_where_the_curves_end_in_their_colours():
    figure = gflops(made_up(RATES), ["01_slow", "02_fast"])
    words = texts(figure)
    heights = [words[text][1] for text in ("FMA peak: 10", "cuBLAS", "02 fast", "01 slow")]
    assert heights == sorted(heights)  # y grows downwards
    assert words["01 slow"][0] == words["02 fast"][0]  # right of both, though one ends before
    far = texts(gflops(made_up(RATES | {"02_fast": {8: 3.0, 256: 6.0}, "01_slow": {8: 0.1}}),
                       ["01_slow", "02_fast"]))  # fmt: skip
    assert far["01 slow"][0] < far["02 fast"][0]
    for text, colour in (
        ("01 slow", text_colour(PALETTE["blue"])),
        ("02 fast", text_colour(PALETTE["vermilion"])),
        ("cuBLAS", "currentColor"),
    ):
        assert re.search(rf"fill: {re.escape(colour)}[^>]*>{text}<", figure.svg), text


def test_gflops_shows_the_defines_of_a_variant():
    label = "06_banks BK=8 NO_PAD=1"
    step = types.SimpleNamespace(label=label, id="06_banks")
    found = made_up({"06_banks": {64: 1.0}, label: {64: 3.0, 256: 6.0}})
    figure = gflops(found, ["06_banks", step])
    assert {"06 banks", "06 banks BK=8 NO_PAD=1"} <= set(texts(figure))
    assert "06 banks BK=8 NO_PAD=1: 3 at 64 to 6 at 256" in figure.alt


def test_gflops_keeps_labels_apart():
    rates = {f"{i:02d}_step": {64: 1.0, 128: 5.0 + 0.01 * i} for i in range(4)}
    figure = gflops(made_up(rates), list(rates))
    heights = sorted(texts(figure)[f"{i:02d} step"][1] for i in range(4))
    assert all(b - a > 11 for a, b in itertools.pairwise(heights))  # the font's size, in points


def test_gflops_is_linear_until_rates_are_far_apart():
    near = texts(gflops(made_up({"02_fast": RATES["02_fast"]}), ["02_fast"]))
    far = texts(gflops(made_up(RATES), ["01_slow"]))
    assert {"0", "2", "4", "6", "8", "10"} <= set(near)
    assert {"0.1", "1", "10"} <= set(far) and "0" not in far


def test_gflops_has_room_for_rates_above_the_fma_peak():
    words = texts(gflops(made_up({"02_fast": {64: 3.0, 256: 25.0}}), ["02_fast"]))
    title = "recorded on Simulated GPU 1, 2001-02-03"
    assert words[title][1] < words["02 fast"][1] < words["FMA peak: 10"][1]


def test_gflops_tells_live_from_recorded():
    steps = [types.SimpleNamespace(label="02_fast")]
    recorded = made_up({"02_fast": {64: 3.0, 256: 6.0}})
    live = made_up({"02_fast": {64: 1.0}}, "Simulated GPU 2", 5.0, recorded=False)
    only = gflops(live, steps)
    assert "live on Simulated GPU 2" in texts(only) and "stroke-dasharray" not in only.svg
    both = gflops(recorded, steps, live)
    assert {
        "solid: live on Simulated GPU 2",
        "FMA peak: 10",
        "FMA peak: 5",
        "dashed: recorded on Simulated GPU 1, 2001-02-03",
    } <= set(texts(both))
    assert "stroke-dasharray" in both.svg
    words = texts(both)
    assert words["02 fast"][0] > words["256"][0]  # where the longer curve ends
    assert gflops(None, steps, live).svg == only.svg


def test_gflops_on_the_gpu_of_the_records_has_one_roof_the_live_one():
    live = made_up(RATES, peak=9.5, recorded=False)
    words = texts(gflops(made_up(RATES), ["02_fast"], live))
    assert "FMA peak: 9.5" in words and "FMA peak: 10" not in words


def test_gflops_leaves_out_products_that_are_not_square():
    found = made_up({"02_fast": {64: 3.0}})
    skew = Record("02_fast", 64, 64, 1024, 1.0, 1.0, 1.0, 20)
    both = Results(found.provenance, 10.0, 500.0, (*found.records, skew), recorded=True)
    assert gflops(both, ["02_fast"]).svg == gflops(found, ["02_fast"]).svg


def test_gflops_without_timings_says_so():
    with pytest.raises(ValueError, match="no timings of 07_other"):
        gflops(made_up(RATES), ["07_other"])
    with pytest.raises(ValueError, match="no timings of no step"):
        gflops(made_up(RATES), [])


def test_roofline_from_results_and_from_numbers():
    points = [("measured", 2.0, 0.5), ("possible", 1000.0, None)]
    figure = roofline(made_up(RATES), points)
    words = texts(figure)
    for text in (
        "FMA peak: 10",
        "copy: 500 GB/s",
        "ridge: 20",
        "measured: 0.5",
        "possible",
        "TFLOPS",
        "FLOP per byte of device memory traffic",
        "recorded on Simulated GPU 1, 2001-02-03",
    ):
        assert text in words, text
    assert "measured at 2 FLOP per byte: 0.5 TFLOPS" in figure.alt
    numbers = roofline(points=points, fma_peak_tflops=10.0, copy_gbs=500.0)
    assert set(words) - set(texts(numbers)) == {"recorded on Simulated GPU 1, 2001-02-03"}
    assert figure.caption.endswith("the FMA peak. Recorded on Simulated GPU 1, 2001-02-03.")
    assert numbers.caption.endswith("above it the FMA peak.")
    for roofs, message in (
        ({"fma_peak_tflops": 10.0}, "roofline needs results"),
        ({"fma_peak_tflops": -1, "copy_gbs": 5.0}, "must be positive: fma_peak_tflops = -1"),
        ({"fma_peak_tflops": 1, "copy_gbs": 0}, "must be positive: .* copy_gbs = 0"),
    ):
        with pytest.raises(ValueError, match=message):
            roofline(**roofs)


def test_a_caption_can_be_given():
    assert gflops(made_up(RATES), ["02_fast"], caption="Mine.").caption == "Mine."
    assert roofline(made_up(RATES), caption="Mine.").caption == "Mine."


def test_figures_are_small():
    assert len(gflops(made_up(RATES), ["01_slow", "02_fast"])._repr_html_()) < 40_000


def test_bars_have_a_length_for_every_rate():
    figure = bars(made_up(RATES), ["02_fast"], 256)
    words = texts(figure)
    for text in ("02 fast", "cuBLAS", "6.00", "8.00", "TFLOPS at M = N = K = 256; FMA peak 10"):
        assert text in words, text
    assert words["6.00"][0] < words["8.00"][0] and words["02 fast"][1] < words["cuBLAS"][1]
    assert "02 fast 6.00, cuBLAS 8.00." in figure.alt
    with pytest.raises(ValueError, match="no record of 01_slow at 256; there is 64 x"):
        bars(made_up(RATES), ["01_slow"], 256)


def test_gflops_draws_cublas_at_the_sizes_of_the_steps_only():
    rates = RATES | {"cublas": {64: 4.0, 100: 1.0, 256: 8.0}}
    assert "100" not in texts(gflops(made_up(rates), ["02_fast"]))
    assert "100" in texts(gflops(made_up(rates | {"03_any": {100: 2.0}}), ["02_fast", "03_any"]))


def test_gflops_draws_one_of_sizes_that_fall_together():
    rates = {"03_any": {64: 3.0, 4095: 4.0, 4096: 6.0, 4100: 2.0}}
    words = texts(gflops(made_up(rates), ["03_any"]))
    assert "4096" in words and not {"4095", "4100"} & set(words)


def test_bars_put_the_defines_below_the_name():
    words = texts(bars(made_up(RATES | {"02_fast A=1 B=2": {256: 5.0}}), ["02_fast A=1 B=2"], 256))
    assert words["02 fast"][1] < words["A=1 B=2"][1]


def test_labels_of_a_roofline_cover_nothing(drawn):
    close = [("a", 19.0, 0.3), ("b", 19.5, 0.3), ("c", 300.0, 0.25), ("d", 2.0, 0.9), ("e", 20, 9)]
    ax = drawn(roofline, made_up(RATES), close)
    fig = ax.figure
    fig.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 3 + len(close)
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for text, box in zip(ax.texts[3:], boxes[3:]):
        for line in ax.lines:
            path = line.get_path().interpolated(200).transformed(ax.transData)
            assert box.count_contains(path.vertices) == 0, text


def test_a_label_with_no_free_place_stands_right_of_its_point(drawn):
    ax = drawn(roofline, made_up(RATES), [("very long " * 20, 19.0, 0.3)])
    assert ax.texts[-1].xyann == (7, 0)


def test_roofline_names_its_bytes():
    assert "FLOP per byte of sectors" in texts(roofline(made_up(RATES), bytes_of="sectors"))
    pipe = roofline(fma_peak_tflops=10.0, copy_gbs=500.0, bandwidth="data pipe")
    assert "data pipe: 500 GB/s" in texts(pipe) and "the data pipe bandwidth" in pipe.caption


# ---------------------------------------------------------------------- what Matplotlib is told


@pytest.fixture
def drawn(monkeypatch):
    """The axes of a figure before it becomes SVG."""

    def draw(function, *arguments, **options):
        kept = []
        home = importlib.import_module(function.__module__)
        keep = lambda fig, alt, caption: kept.append(fig)
        with monkeypatch.context() as patch:
            patch.setattr(home, "from_matplotlib", keep)
            function(*arguments, **options)
        return kept[0].axes[0]

    return draw


def test_gflops_draws_the_medians_in_a_band_of_percentiles(drawn):
    ax = drawn(gflops, made_up(RATES), ["02_fast"])
    blue = matplotlib_colour(PALETTE["blue"])
    (band,) = [c for c in ax.collections if tuple(c.get_facecolor()[0][:3]) == blue]
    corners = {(round(float(x)), round(float(y), 6)) for x, y in band.get_paths()[0].vertices}
    rates = {64: 3.0, 256: 6.0}
    assert corners == {
        (n, round(rate / spread, 6)) for n, rate in rates.items() for spread in (0.9, 1.1)
    }
    (curve,) = [line for line in ax.lines if line.get_color() == PALETTE["blue"]]
    assert dict(zip(curve.get_xdata(), curve.get_ydata())) == pytest.approx(rates)
    assert curve.get_linestyle() == "-" and curve.get_marker() == "o"
    peaks = [line for line in ax.lines if list(line.get_ydata()) == [10.0, 10.0]]
    assert len(peaks) == 1 and len(ax.collections) == 2  # bands: of the step, and of cuBLAS


def matplotlib_colour(name):
    from matplotlib.colors import to_rgb

    return to_rgb(name)


def test_bars_are_medians_with_a_mark_from_the_10th_to_the_90th_percentile(drawn):
    ax = drawn(bars, made_up(RATES), ["02_fast"], 256)
    assert [(p.get_width(), p.get_y() + p.get_height() / 2) for p in ax.patches] == [
        (pytest.approx(6.0), pytest.approx(0)),
        (pytest.approx(8.0), pytest.approx(1)),
    ]
    marks = [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]
    assert marks[:2] == [
        (pytest.approx([6 / 1.1, 6 / 0.9]), [0, 0]),
        (pytest.approx([8 / 1.1, 8 / 0.9]), [1, 1]),
    ]
    assert marks[2][0] == [10.0, 10.0] and ax.get_xlim() == (0, 10.0)  # the peak


def test_roofline_draws_the_roof_and_its_points(drawn):
    ax = drawn(roofline, made_up(RATES), [("measured", 2.0, 0.5), ("possible", 1000.0, None)])
    roof, *others = ax.lines
    x, y = roof.get_xdata(), roof.get_ydata()
    assert (x[1], y[1], y[2]) == (20.0, 10.0, 10.0)
    assert y[0] / x[0] == pytest.approx(0.5)  # TFLOPS for each FLOP per byte: 500 GB/s
    points = {
        (line.get_xdata()[0], line.get_ydata()[0]): line.get_fillstyle()
        for line in others
        if line.get_marker() == "o"
    }
    assert points == {(2.0, 0.5): "full", (1000.0, 10.0): "none"}
    low, high = ax.get_xlim()
    assert low < 1 and high > 2000
