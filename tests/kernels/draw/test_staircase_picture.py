"""Speed against size where the last wave is not full: times of the model lie on its line."""

import pytest
from drawn import timed

import kernels
from kernels.draw import staircase

STEP = kernels.step("15")  # a block for each 128 x 128 of C, two on an SM
ALONE, WHOLE = 1e-3, 1.8e-3  # ms for a tile


def rate(size, slower=1.0):
    full, rest = divmod((size // 128) ** 2, 264)
    each = WHOLE * full + (WHOLE if rest > 132 else ALONE if rest else 0)
    return 2 * size**3 / (slower * each * size / 8) / 1e9


def test_the_line_goes_through_times_of_the_model():
    sizes = 1024, 1408, 1536, 2048, 2176, 2560, 4096
    figure = staircase(timed({STEP.label: {n: rate(n) for n in sizes}}), STEP)
    assert "264 blocks at a time; a tile takes 1000 ns in a block alone on its SM" in figure.caption
    assert "1800 ns in 2 of them together" in figure.caption
    assert "differ by at most 0.0%" in figure.caption


def test_it_says_how_far_a_time_is_off():
    rates = {1024: rate(1024), 1408: rate(1408), 2048: rate(2048), 4224: rate(4224, 1.25)}
    assert "differ by at most 25.0%" in staircase(timed({STEP.label: rates}), STEP).caption


def test_lone_blocks_have_to_be_timed():
    with pytest.raises(ValueError, match="no two sizes were timed at which blocks of 15_any_shape"):
        staircase(timed({STEP.label: {1024: 20.0, 4096: 46.0}}), STEP)
