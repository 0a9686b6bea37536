"""Waves of blocks: shares and tiles are the arithmetic of the grid."""

import re

import pytest
from drawn import elements

import kernels
from anywarp.analysis import occupancy
from kernels.draw import rasterisation, waves
from kernels.draw.steps.waves import LEFT, WIDE
from kernels.ladder import raster

STEP = kernels.step("17")
BY_ROW = STEP.define(GROUP=1)


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


def test_the_first_wave_takes_these_tiles():
    caption = rasterisation([BY_ROW, STEP], 4096, 4096, 64).caption
    for step in BY_ROW, STEP:
        first, *_ = raster.waves(raster.places(step, 4096, 4096), 132)
        down, across = (len(set(numbers)) for numbers in first.T.tolist())
        words = f"the 132 blocks of the first wave have {down} rows and {across} columns"
        assert f"GROUP = {step.defines['GROUP']}: {words}" in caption


def test_tiles_at_the_edges_read_less():
    """Of one wave: each row of A once, and each column of B."""
    assert raster.bytes_read(STEP, 1000, 900, 64, slots=132) == 4 * 64 * (1000 + 900)


@pytest.mark.parametrize(
    "steps, words",
    [
        ([], "one or two steps, not of 0"),
        ([STEP] * 3, "one or two steps, not of 3"),
        ([kernels.step("15")], "no region 'order'"),
    ],
)
def test_what_has_no_rasterisation(steps, words):
    with pytest.raises(ValueError, match=words):
        rasterisation(steps, 256, 256, 8)
