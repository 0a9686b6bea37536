"""The swizzles of shared memory against the figures of the PTX ISA and CUTLASS's definition."""

import numpy as np
import pytest

from anywarp.ptx.memory.swizzle import SWIZZLES, swizzled

# which 16-byte unit of a row of 128 bytes comes to stand where, in eight rows of 128 bytes
FIGURES = {
    32: ["01234567", "10325476"] * 4,
    64: ["01234567", "10325476", "23016745", "32107654"] * 2,
    128: [
        "01234567", "10325476", "23016745", "32107654",
        "45670123", "54761032", "67452301", "76543210",
    ],
}  # fmt: skip


@pytest.mark.parametrize("swizzle", FIGURES)
def test_units_stand_where_the_figures_have_them(swizzle):
    for row, units in enumerate(FIGURES[swizzle]):
        for place, unit in enumerate(units):
            assert swizzled(128 * row + 16 * int(unit), swizzle) == 128 * row + 16 * place


@pytest.mark.parametrize("swizzle", FIGURES)
def test_a_permutation_of_each_128_bytes_that_undoes_itself(swizzle):
    address = np.arange(4096, dtype=np.int64).reshape(2, 2048)
    found = swizzled(address, swizzle)
    assert found.shape == address.shape and found.dtype == np.int64
    assert (np.sort(found.reshape(-1, 128)) == address.reshape(-1, 128)).all()
    assert (found & 15 == address & 15).all()
    assert (swizzled(found, swizzle) == address).all()
    assert (swizzled(address + 8 * swizzle, swizzle) == found + 8 * swizzle).all()


def test_without_a_swizzle_nothing_moves():
    address = np.arange(2048)
    assert (swizzled(address, 0) == address).all()


@pytest.mark.parametrize("swizzle", FIGURES)
@pytest.mark.parametrize("pattern", (128, 384, 896))
def test_a_pattern_that_starts_elsewhere(swizzle, pattern):
    """Counted from there, the figures hold."""
    address = np.arange(1024)
    assert (
        swizzled(address + pattern, swizzle, pattern) - pattern == swizzled(address, swizzle)
    ).all()


@pytest.mark.parametrize("swizzle", (16, 48, 256, -32))
def test_other_widths_are_refused(swizzle):
    assert swizzle not in SWIZZLES
    with pytest.raises(ValueError, match=f"not {swizzle}"):
        swizzled(0, swizzle)
