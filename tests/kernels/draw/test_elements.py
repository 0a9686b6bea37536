"""Elements that are not of 4 bytes, and traces of several blocks: pictures say what traces say."""

import dataclasses

import numpy as np
import pytest
from drawn import LANE, access, bars, texts, trace

import kernels
from anywarp.draw import banks, coalescing, lanes, thread_mapping
from anywarp.trace.arrays import Shape
from kernels.draw import PALETTE

SOURCE = """
extern "C" __global__ void square(double* x)
{
    __shared__ double tile[8][8];
    tile[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = 2 * tile[threadIdx.x % 8][threadIdx.x / 8];
}
extern "C" __global__ void vectors(float4* x, float* y)
{
    __shared__ float4 tile[4][16];
    tile[threadIdx.x / 16][threadIdx.x % 16] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x % 4][threadIdx.x / 4].z;
}
"""


@pytest.fixture(scope="module")
def square():
    made = kernels.Kernel(SOURCE, "square")
    return made.trace(1, 64, (np.zeros((8, 8)),), ["x"])


@pytest.fixture(scope="module")
def vectors():
    made = kernels.Kernel(SOURCE, "vectors")
    x, y = np.zeros((64, 4), np.float32), np.zeros((4, 16), np.float32)
    return made.trace(1, 64, (x, y), ["x", "y"])


def mapped(figure):
    """The ends of the axes of a thread mapping: numbers of columns, then of rows."""
    words = texts(figure)
    across = [text for (_, y), text in sorted(words.items()) if y == 36]
    down = [text for (x, _), text in sorted(words.items(), key=lambda w: w[0][1]) if x == 46]
    return across, down


def test_a_double_is_named_as_the_trace_names_it(square):
    figure = coalescing(square, "x", warp=1, index=0)
    assert square.find("x", warp=1).element(0) == "x[4][0]"
    names = [words for words in texts(figure).values() if words.startswith("x[")]
    assert names == ["x[4, 0]", "x[6, 0]"]  # 16 doubles in a line
    assert {width for *_, width in bars(figure, PALETTE["blue"])} == {2 * 18 - 1}
    assert "32 lanes load 64 words of x in 8 sectors of 2 cache lines" in figure.caption
    assert "256 bytes asked for, 256 used" in figure.caption
    stored = banks(square, "tile", "store", warp=1, index=0)
    assert "store 0, from tile[4][0]" in stored.caption
    loaded = banks(square, "tile", "load", warp=1, index=0)
    assert "load 0, from tile[0][4]" in loaded.caption


def test_a_mapping_of_wide_accesses_to_narrow_elements():
    made = trace(access(16 * LANE, 16, "x"), x=Shape((8, 64), 2))
    figure = thread_mapping(made, "x", "load", thread=9)
    assert "loads 4 rows by 64 columns of x; thread 9 loads 8 elements of one row" in figure.caption
    made = trace(access(16 * LANE, 16, "x"), x=Shape((64, 8), 1))
    figure = thread_mapping(made, "x", "load", thread=9)
    assert "thread 9 loads 2 rows by 8 columns" in figure.caption


def test_an_access_that_is_not_aligned_with_its_elements_touches_both():
    made = trace(access(4 * LANE + 2, 4, "x", active=LANE == 3), x=Shape((16, 2), 4))
    figure = thread_mapping(made, "x", "load", thread=3)
    assert "thread 3 loads 2 elements" not in figure.caption  # 14 to 17: elements 3 and 4
    assert mapped(figure) == (["0", "1"], ["1", "2"])


def test_vectors_are_elements_until_one_is_taken_apart(vectors):
    stored = thread_mapping(vectors, "tile", "store")
    assert mapped(stored) == (["0", "15"], ["0", "3"])
    assert "stores 2 rows by 16 columns of tile" in stored.caption
    assert "column of tile" in texts(stored).values()
    loaded = thread_mapping(vectors, "tile", "load")
    assert mapped(loaded) == (["2", "62"], ["0", "3"])
    assert "component of tile" in texts(loaded).values()
    assert "load 0, from tile[0][0].z" in banks(vectors, "tile", index=0).caption
    rows = thread_mapping(vectors, "x", "load")  # as NumPy has it: four floats a row
    assert "loads 32 rows by 4 columns of x; thread 0 loads 4 elements of one row" in rows.caption
    several = trace(access(4 * (LANE // 8), 4, "v"), v=Shape((2,), 16, 4))
    assert "4 components of one row of v" in thread_mapping(several, "v", "load").caption


def test_parts_of_words_share_a_mark_and_the_bytes_used_are_counted():
    made = trace(
        access(LANE, 1, "x", space="global"),
        access(4 * LANE, 1, "x", space="global"),
        access(2 * LANE, 2, "x", space="global"),
        x=Shape((4, 64), 1),
    )
    together, apart, pairs = (coalescing(made, "x", index=n) for n in range(3))
    assert len(bars(together, PALETTE["blue"])) == 8
    assert list(texts(together).values()).count("*") == 8
    assert "lanes load 32 bytes of x in 1 sector of 1 cache line; 32 bytes asked for, 32 used" in (
        together.caption
    )
    assert len(bars(apart, PALETTE["blue"])) == 32
    assert "128 bytes asked for, 32 used" in apart.caption
    assert "used, all or in part, with its lane (* several)" in texts(apart).values()
    assert "load 64 bytes of x in 2 sectors" in pairs.caption


def test_banks_of_parts_of_words_are_counted_as_the_trace_counts_them():
    made = kernels.Kernel(
        """extern "C" __global__ void f(unsigned char* x)
        {
            __shared__ unsigned short tile[32][64];
            tile[threadIdx.x][3] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = tile[0][threadIdx.x];
        }""",
        "f",
    ).trace(1, 32, (np.zeros(32, np.uint8),))
    costs = {p.kind: cost for p, cost in made.costs.items() if p.array == "tile"}
    for kind, first in (("store", "tile[0][3]"), ("load", "tile[0][0]")):
        figure = banks(made, "tile", kind)
        wavefronts = costs[kind].wavefronts
        assert f"{kind} 0, from {first}: {wavefronts} wavefront" in figure.caption
        assert len({y for _, y, _ in bars(figure, PALETTE["blue"])}) >= 1
        assert len({y for _, y, _ in _all_bars(figure)}) == wavefronts


def _all_bars(figure):
    return bars(figure, PALETTE["blue"]) + bars(figure, PALETTE["vermilion"])


def test_elements_outside_an_array_and_without_a_shape_are_named_too():
    made = trace(
        access(16 * LANE + 512, 16, "x", space="global"), access(4 * LANE, 4, "y"), x=(16, 8)
    )
    figure = coalescing(made, "x", index=0)
    assert "x[16, 0]" in texts(figure).values()  # one row below the last
    assert "load 0, from y[0]" in banks(made, "y").caption
    assert "32 elements of one column" in thread_mapping(made, "y", "load").caption


# ---------------------------------------------------------------------- blocks


@pytest.fixture(scope="module")
def several():
    return kernels.step("03_coalesced").trace(128, 128, 8, keep=[(1, 1), (0, 1)])


@pytest.mark.parametrize("block", [None, (1, 1), (1, 1, 0), (0, 1), [0, 1]])
def test_a_block_of_several_is_drawn_as_if_it_were_alone(several, block):
    alone = kernels.step("03_coalesced").trace(128, 128, 8, keep=block or (1, 1))
    assert len(several.accesses) == 2 * len(alone.accesses)
    for what in (("C", "store"), ("B", "load", 3)):
        assert thread_mapping(several, *what, block=block) == thread_mapping(alone, *what)
    if block is None:
        assert coalescing(several, "A") == coalescing(alone, "A")
    assert f"block {tuple(block or (1, 1))[:2]}" in thread_mapping(several, block=block).caption


def test_a_block_that_was_not_kept_is_refused(several):
    words = r"no access of block \(0, 0, 0\) was kept, only those of \(0, 1, 0\), \(1, 1, 0\)"
    with pytest.raises(ValueError, match=words + r": trace it with keep=\(0, 0, 0\)"):
        thread_mapping(several, "A", "load", block=(0, 0))


def test_numbers_are_taken_within_the_block(several):
    assert len(lanes.accesses(lanes.of_block(several), "A", "load", 0)) == 8
    with pytest.raises(ValueError, match="below 8"):
        coalescing(several, "A", index=8)
    nothing = dataclasses.replace(several, _kept=[])
    with pytest.raises(ValueError, match=r"block \(1, 1, 0\) has 0 loads of A"):
        coalescing(nothing, "A")
