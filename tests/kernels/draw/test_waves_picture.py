"""Waves of blocks: bars and shares are the arithmetic of the grid."""

import re

import pytest
from drawn import elements, legible, texts

import kernels
from anywarp.analysis import occupancy
from kernels.draw import waves
from kernels.draw.steps.waves import LEFT, WIDE


def bars(figure, dashed=False):
    return [
        float(r["width"])
        for r in elements(figure, "rect")
        if (r.get("stroke-dasharray") is not None) == dashed
    ]


@pytest.mark.parametrize(
    "blocks, per_sm, count, last", [(133, 1, 2, 1), (132, 1, 1, 132), (600, 2, 3, 72), (1, 1, 1, 1)]
)
def test_a_bar_for_each_wave(blocks, per_sm, count, last):
    slots = 132 * per_sm
    figure = waves(blocks, per_sm=per_sm)
    full, part = bars(figure)[:-1], bars(figure)[-1]
    assert full == [WIDE] * (count - 1)
    assert part == pytest.approx(WIDE * last / slots, abs=0.01)
    assert bars(figure, dashed=True) == (
        [] if last == slots else [pytest.approx(WIDE * (slots - last) / slots, abs=0.01)]
    )
    assert f"{blocks / (count * slots):.1%} of the places are used" in figure.caption
    words = set(texts(figure).values())
    assert f"{slots} blocks at a time" in words and f"wave {count}" in words
    assert (f"{last} blocks" if last == slots else f"{last} of {slots}") in words
    legible(figure)


def test_many_waves_are_cut_short():
    figure = waves(132 * 20 + 5)
    words = list(texts(figure).values())
    assert len(bars(figure)) == 7 and "wave 21" in words and "wave 7" not in words
    assert "and 14 more like these" in words  # 6 + 14 + 1
    assert bars(figure)[-1] == pytest.approx(WIDE * 5 / 132, abs=0.01)


def test_a_step_has_its_grid_its_occupancy_and_a_curve():
    step = kernels.step(12)
    resident = occupancy(step.kernel.resources("sm_90"), 256, "9.0").blocks
    slots, blocks = 132 * resident, 32 * 32
    figure = waves(step, 4096, 4096)
    assert f"{blocks} blocks on 132 SMs, {resident} on each at a time" in figure.caption
    (curve,) = [p["d"] for p in elements(figure, "path") if p.get("stroke-width") == "1.6"]
    points = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([^ML]+)", curve)]
    (axes,) = [p["d"] for p in elements(figure, "path") if p["stroke"] == "currentColor"]
    top = float(re.match(r"M\S+ ([\d.]+)", axes)[1])
    assert len(points) == 64  # a tile of 128 up to 8192
    for n, (x, y) in enumerate(points, 1):
        share = n * n / (-(-n * n // slots) * slots)
        assert x == pytest.approx(LEFT + WIDE * n / 64, abs=0.01)
        assert y == pytest.approx(top + 96 * (1 - share), abs=0.01)
    (circle,) = elements(figure, "circle")
    assert (float(circle["cx"]), float(circle["cy"])) == pytest.approx(points[31], abs=0.01)
    legible(figure)


def test_a_product_that_is_not_square_has_no_curve():
    figure = waves(kernels.step(9), 4096, 128, sms=40, per_sm=2)
    assert not elements(figure, "circle")
    assert "128 blocks on 40 SMs, 2 on each at a time, are 1.60 waves" in figure.caption


def test_what_is_refused():
    with pytest.raises(ValueError, match="need M and N"):
        waves(kernels.step(9))
    with pytest.raises(ValueError, match="1 at least"):
        waves(0)
