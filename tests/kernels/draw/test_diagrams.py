"""Thread-mapping and coalescing diagrams: what they draw is what the trace says."""

import re

import numpy as np
import pytest
from drawn import LANE, access, bars, elements, texts, trace

import kernels
from anywarp.draw import coalescing, thread_mapping
from anywarp.draw.coalescing import ALPHA, BEFORE, NARROW, NEW
from anywarp.draw.thread_mapping import COLOURS, TINT
from kernels.draw import PALETTE


@pytest.fixture(scope="module")
def traces():
    return {
        name: kernels.step(name).trace(128, 128, 40, keep=(1, 1))
        for name in ("02_naive", "03_coalesced")
    }


def areas(figure, **attributes):
    """(x, y, width, height) of the rectangles of the paths with these attributes."""
    found = []
    for path in elements(figure, "path", **attributes):
        found += [
            tuple(map(float, place))
            for place in re.findall(r"M(\S+) ([^h]+)h([^v]+)v([^h]+)h[^z]+z", path["d"])
        ]
    return found


def of_warp(figure, warp):
    return areas(figure, fill=COLOURS[warp], **{"fill-opacity": str(TINT)})


# ---------------------------------------------------------------------- thread mapping


def test_mapping_turns_around_between_the_steps(traces):
    (down,), (across,) = (
        of_warp(thread_mapping(traces[name]), 0)[:1] for name in ("02_naive", "03_coalesced")
    )
    assert down[3] == 32 * down[2]
    assert across[2] == 32 * across[3]


def test_mapping_names_warps_and_the_order_of_lanes(traces):
    words = set(texts(thread_mapping(traces["03_coalesced"])).values())
    assert {"warp 0: lanes 0 → 31", "warp 1", "warp 31"} <= words
    small = kernels.step(3).define(BM=32, BN=32).trace(64, 64, 8)
    words = list(texts(thread_mapping(small)).values())
    assert words.count("17") == 2  # of warps 0 and 1
    assert "warp 2" in words


def test_mapping_of_loads_of_a_tile_and_through_shared_memory():
    made = []
    for warp in range(8):
        row, part = np.divmod(32 * warp + LANE, 2)
        for k in range(0, 64, 8):
            made.append(access(4 * (64 * row + k + 4 * part), 16, "A", "load", warp, "global"))
            made += [
                access(4 * (128 * (4 * part + i) + row), 4, "tile", "store", warp) for i in range(4)
            ]
    made = trace(*made, A=(128, 64), tile=(8, 128))
    tile = thread_mapping(made, "A", "load", index=0)
    assert "Warp 0 of block (0, 0) loads 16 rows by 8 columns of A" in tile.caption
    assert "thread 0 loads 4 elements of one row" in tile.caption
    later = thread_mapping(made, "A", "load", index=range(1, 3))
    assert {"8", "23"} <= set(texts(later).values())  # its columns
    assert "64 columns" in thread_mapping(made, "A", "load").caption
    shared = thread_mapping(made, "tile", "store", thread=33)
    assert "Warp 0 of block (0, 0) stores 8 rows by 16 columns of tile" in shared.caption
    assert "thread 33 stores 4 elements of one column" in shared.caption


def test_mapping_tells_elements_of_several_warps(traces):
    figure = thread_mapping(traces["03_coalesced"], "B", "load")
    assert "touched by several warps" in figure.caption
    assert not any(of_warp(figure, n) for n in range(5))
    assert "several warps" in texts(figure).values()


# ---------------------------------------------------------------------- coalescing


@pytest.mark.parametrize(
    "step, array, used, moved, rows",
    [
        ("02_naive", "A", 32, 32 * 8, 32),
        ("02_naive", "B", 1, 8, 1),
        ("03_coalesced", "A", 1, 8, 1),
        ("03_coalesced", "B", 32, 32, 1),
    ],
)
def test_coalescing_counts(traces, step, array, used, moved, rows):
    figure = coalescing(traces[step], array, index=0)
    assert len(bars(figure, PALETTE["blue"])) == used
    assert len(elements(figure, "path", stroke=NEW + ALPHA)) == moved // 8
    assert f"{4 * moved} bytes asked for, {4 * used} used" in figure.caption
    assert (
        sum(bool(re.fullmatch(rf"{array}\[\d+, \d+\]", words)) for words in texts(figure).values())
        == rows
    )


@pytest.mark.parametrize("apart, data, tags", [
    (8, [*range(1, 9)] * 4, [1, 1, 1, 1, 2, 2, 2, 2]), (33, [1] * 32, sorted([*range(1, 9)] * 4)),
])  # fmt: skip
def test_coalescing_says_in_which_cycles_the_stages_serve_a_load(apart, data, tags):
    made = trace(access(4 * apart * LANE, array="x", space="global"), x=(2048,))
    figure = coalescing(made, "x", cycles=True)
    numbers = [int(words) for words in texts(figure).values() if words.isdigit()]
    assert sorted(numbers) == sorted(data + tags)
    assert f"Tag stage: {max(tags)} cycles, a line's beside it. Data stage: " in figure.alt
    assert f"Data stage: {max(data)} cycle" in figure.caption


def test_coalescing_names_the_elements_of_the_chosen_access(traces):
    figure = coalescing(traces["03_coalesced"], "A", warp=5, index=7)
    assert "A[18, 7]" in texts(figure).values()


def test_coalescing_steps_and_remembers_the_sectors(traces):
    steps = coalescing(traces["02_naive"], "A")
    assert len(steps) == 32  # of 40
    assert "32 of the 40 loads of A" in steps.caption
    for k in (0, 1, 8, 9):
        frame = steps[k]
        new = 32 if k % 8 == 0 else 0
        assert len(elements(frame, "path", stroke=NEW + ALPHA)) == new
        before = 32 * (k // 8 + (new == 0))
        told = {"stroke": BEFORE, "stroke-width": str(NARROW)}  # not by their colour alone
        assert len(elements(frame, "path", **told)) == before
        assert len(bars(frame, PALETTE["blue"])) == 32
        so_far = f"so far {32 * (k + 1)} asked for, {before + new} different"
        assert f"load {k}: 32 sectors, {new or 'none'} new; {so_far}" == steps.labels[k]
    assert len({tuple(bars(steps[k], PALETTE["blue"])) for k in range(32)}) == 32


def test_coalescing_shows_all_lines_or_as_many_as_an_access_has():
    def rows(stride):
        made = trace(
            *[access(128 * stride * k + 128 * LANE, array="A", space="global") for k in range(4)],
            A=(1000, 32),
        )
        return [
            len([w for w in texts(frame).values() if w.startswith("A[")])
            for frame in coalescing(made, "A").frames
        ]

    assert rows(1) == [35] * 4  # the union of all lines is not too high
    assert rows(16) == [32] * 4


def test_coalescing_of_a_range_and_of_a_single_store(traces):
    assert coalescing(traces["02_naive"], "A", index=range(36, 40)).labels[0].startswith("load 36:")
    assert isinstance(coalescing(traces["02_naive"], "C", "store"), kernels.draw.Figure)


def test_coalescing_of_random_addresses_fits_into_a_page():
    at = np.random.default_rng(0).integers(0, 1 << 20, (40, 32))
    made = trace(*[access(4 * row, array="A", space="global") for row in at], A=(1024, 1024))
    assert len(coalescing(made, "A")) == 16
    with pytest.raises(ValueError, match="32 frames take .* more than 60000: show fewer"):
        coalescing(made, "A", index=range(32))


@pytest.mark.parametrize("draw", [coalescing, thread_mapping])
def test_loads_and_stores_of_an_array_are_told_apart(draw):
    load = access(4 * LANE, 4, "A", "load", space="global")
    store = access(256 + 8 * (LANE % 16), 8, "A", "store", space="global")
    both = trace(load, store, load, store, A=(64, 32))
    for kind, one in (("load", load), ("store", store)):
        assert draw(both, "A", kind) == draw(trace(one, one, A=(64, 32)), "A", kind)
    assert draw(both, "A", "load") != draw(both, "A", "store")


# ---------------------------------------------------------------------- both


def test_what_cannot_be_drawn(traces):
    with pytest.raises(ValueError, match="no loads of C"):
        thread_mapping(traces["02_naive"], "C", "load")
    with pytest.raises(ValueError, match="thread 5000 has no store of C"):
        thread_mapping(traces["02_naive"], thread=5000)
    with pytest.raises(ValueError, match="loads of A"):
        coalescing(traces["02_naive"], "D")
    for index in (40, range(0), range(30, 50)):
        with pytest.raises(ValueError, match="index must be .* below 40"):
            coalescing(traces["02_naive"], "A", index=index)
