"""In which order blocks take the tiles of C, and what a wave reads."""

import numpy as np
import pytest

import kernels
from kernels.ladder.raster import bytes_read, places, waves

STEP = kernels.step("17")


def expected(rows, columns, group):
    """The rows of blocks in groups, down each column of a group before the next."""
    return [
        (row, column)
        for first in range(0, rows, group)
        for column in range(columns)
        for row in range(first, min(first + group, rows))
    ]


@pytest.mark.parametrize("group", [1, 2, 5, 16])
def test_places_are_those_of_the_kernel(group):
    step = STEP.define(GROUP=group)
    found = places(step, 128 * 5 - 3, 256 * 3)
    assert [tuple(place) for place in found.tolist()] == expected(5, 3, group)


def test_the_kernel_stores_where_places_say():
    """The very step, traced: a block's stores lie in its tile."""
    step = kernels.step("17 BM=32 BN=64 TM=4 TN=4 WM=16 WN=32 GROUP=2")
    M, N = 32 * 3, 64 * 2
    blocks = [(x, y) for y in range(3) for x in range(2)]
    trace = step.trace(M, N, 8, keep=blocks)
    found = places(step, M, N)
    for access in trace.accesses:
        if (access.array, access.kind) == ("C", "store"):
            row, column = np.divmod(access.offset[access.active] // 4, N)
            number = access.block[1] * 2 + access.block[0]
            assert {(r // 32, c // 64) for r, c in zip(row, column)} == {tuple(found[number])}


def test_waves_are_as_large_as_the_gpu():
    assert [len(wave) for wave in waves(np.zeros((10, 2)), 4)] == [4, 4, 2]


def test_a_wave_reads_each_row_and_column_of_tiles_once():
    """Two rows of three tiles; the last column has 100 of 256, the last row 28 of 128."""
    M, N, K = 156, 612, 10
    rows, columns = [128, 28], [256, 256, 100]
    by_row = STEP.define(GROUP=1)
    assert bytes_read(by_row, M, N, K, 6) == 4 * K * (156 + 612)
    assert bytes_read(by_row, M, N, K, 3) == 4 * K * (156 + 2 * 612)
    assert bytes_read(by_row, M, N, K, 1) == 4 * K * (3 * sum(rows) + 2 * sum(columns))
    by_column = STEP.define(GROUP=2)
    assert bytes_read(by_column, M, N, K, 2) == 4 * K * (3 * 156 + 612)


def test_a_step_that_does_not_say_which_tile_is_a_blocks():
    with pytest.raises(ValueError, match="no region 'order'"):
        places(kernels.step("15"), 256, 256)
