"""kernels.draw.records.plots. The timings are made up, for a GPU that does not exist."""

from __future__ import annotations

import importlib
import itertools
import re
import types
import xml.etree.ElementTree as ET

import pytest
from drawn import timed

from kernels.draw import gflops, roofline
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


def test_gflops_shows_the_defines_of_a_variant():
    label = "06_banks BK=8 NO_PAD=1"
    step = types.SimpleNamespace(label=label, id="06_banks")
    found = made_up({"06_banks": {64: 1.0}, label: {64: 3.0, 256: 6.0}})
    figure = gflops(found, ["06_banks", step])
    assert {"06 banks", "06 BK=8 NO_PAD=1"} <= set(texts(figure))
    assert "06 banks BK=8 NO_PAD=1: 3 at 64 to 6 at 256" in figure.alt


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


def test_roofline_from_results():
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
    assert figure.caption.endswith("the FMA peak. Recorded on Simulated GPU 1, 2001-02-03.")


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
