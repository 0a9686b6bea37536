"""Rasterisation: a rectangle for each tile, in the colour of the wave of its block."""

import pytest
from drawn import elements, legible, rectangles, texts

import kernels
from kernels.draw import rasterisation
from kernels.draw.steps.rasterisation import FIRST, GAP, LATER, SECOND, TOP, WIDE
from kernels.ladder.raster import places, waves

STEP = kernels.step("17")
BY_ROW = STEP.define(GROUP=1)


def tiles(figure, look):
    return [
        [tuple(map(float, box)) for box in rectangles(p)]
        for p in elements(figure, "path")
        if (p.get("fill"), p.get("fill-opacity")) == (look["fill"], str(look["fill_opacity"]))
    ]


def test_tiles_have_the_colour_of_their_wave():
    figure = rasterisation([BY_ROW, STEP], 128 * 6, 256 * 4, 64, 10)
    wide, high = WIDE / 4, WIDE / 4 / 2
    for n, step in enumerate((BY_ROW, STEP)):
        first, second, later = waves(places(step, 128 * 6, 256 * 4), 10)
        for wave, look in zip((first, second, later), (FIRST, SECOND, LATER)):
            corners = [
                pytest.approx((n * (WIDE + GAP) + column * wide, TOP + row * high), abs=0.02)
                for row, column in wave.tolist()
            ]
            assert [box[:2] for box in tiles(figure, look)[n]] == corners
    words = set(texts(figure).values())
    assert {"GROUP = 1", "GROUP = 16", "first wave", "second", "later"} <= words
    assert "GROUP = 1: the 10 blocks of the first wave have 3 rows and 4 columns" in figure.caption
    assert "GROUP = 16: the 10 blocks of the first wave have 6 rows and 2 columns" in figure.alt
    legible(figure)


@pytest.mark.parametrize("steps", [[], [STEP] * 3])
def test_one_or_two_steps(steps):
    with pytest.raises(ValueError, match=f"one or two steps, not of {len(steps)}"):
        rasterisation(steps, 256, 256, 8)


def test_a_step_without_an_order():
    with pytest.raises(ValueError, match="no region 'order'"):
        rasterisation([kernels.step("15")], 256, 256, 8)
