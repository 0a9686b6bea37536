"""The picture of banks, which shows what kernels.analysis says of made-up accesses."""

import pytest
from drawn import LANE, access, bars, elements, texts, trace

import kernels
from anywarp.draw import banks
from kernels.draw import PALETTE, Figure

COLUMN, PADDED = (
    trace(*[access(4 * (LANE * (32 + pad) + k)) for k in range(5)], tile=(32, 32 + pad))
    for pad in (0, 1)
)


def test_a_column_goes_to_one_bank_in_as_many_wavefronts_as_lanes():
    steps = banks(COLUMN, "tile")
    assert len(steps) == 5
    for k in range(5):
        (first,), later = (bars(steps[k], PALETTE[c]) for c in ("blue", "vermilion"))
        assert {x for x, _, _ in later} == {first[0]} == {92 + 18 * k}
        assert sorted(y for _, y, _ in later) == [first[1] + 18 * n for n in range(1, 32)]
        assert steps.labels[k] == f"load {k}, from tile[0][{k}]: 32 wavefronts, 1 at best"
    assert "160 wavefronts, 5 at best" in steps.caption and "conflict" in steps.caption
    assert "wavefront 31" in texts(steps[0]).values()


def test_padding_spreads_it():
    steps = banks(PADDED, "tile")
    marks = bars(steps[1], PALETTE["blue"])
    assert len(marks) == 32 and len({y for _, y, _ in marks}) == 1
    assert not bars(steps[1], PALETTE["vermilion"])
    words = {x: text for (x, y), text in texts(steps[1]).items() if y == marks[0][1] + 13}
    assert words[92 + 18 * 1 + 8.5] == "0" and words[92 + 8.5] == "31"  # banks 1 and 0
    assert "none is in conflict" in steps.caption


def test_lanes_that_share_a_word_share_a_mark():
    figure = banks(trace(access(4 * (LANE // 16), active=LANE > 2), tile=(2,)), "tile")
    assert isinstance(figure, Figure)
    assert len(bars(figure, PALETTE["blue"])) == 2
    assert list(texts(figure).values()).count("*") == 2
    assert "Warp 0, line 7, load 0, from tile[0]: 1 wavefront, 1 at best" in figure.caption


def test_vectors_cover_four_banks_and_name_the_lanes_that_share_them():
    wide = trace(access(16 * LANE, 16), access(16 * (LANE // 4), 16), v=(128,), tile=(128,))
    own, shared = banks(wide, "tile", index=0), banks(wide, "tile", index=1)
    assert len(bars(own, PALETTE["blue"])) == 32
    assert {width for *_, width in bars(own, PALETTE["blue"])} == {4 * 18 - 1}
    assert {"0–3", "28–31"} <= set(texts(shared).values())
    assert "2 wavefronts, 2 at best" in shared.caption  # one for each half-warp
    apart = banks(trace(access(128 * LANE, 16), tile=(1024,)), "tile")
    assert "32 wavefronts, 4 at best" in apart.caption  # at least one for a quarter of a warp
    assert len(bars(apart, PALETTE["vermilion"])) == 28


def test_loads_and_stores_are_told_apart_and_counted_as_such():
    load, store = (access(8 * (LANE // 2), 8, kind=kind) for kind in ("load", "store"))
    both = trace(load, store, tile=(32,))
    assert "load 0, from tile[0]: 1 wavefront, 1 at best" in banks(both, "tile").caption
    assert "store 0, from tile[0]: 2 wavefronts, 2 at best" in banks(both, "tile", "store").caption


def test_the_frames_share_their_structure():
    html = banks(COLUMN, "tile")._repr_html_()
    assert len(html.encode()) < 16_000 and '"<"' not in html.partition("})(")[2]


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="A is in global memory, which has no banks"):
        banks(trace(access(LANE, array="A", space="global"), A=(9,)), "A")
    with pytest.raises(ValueError, match="it has loads of tile"):
        banks(COLUMN, "tile", "store")
    assert elements(banks(COLUMN, "tile", index=4), "svg")


@pytest.mark.parametrize(
    "step, side, words",
    [
        (9, 64, ("4 wavefronts, 2 at best", "it is no bank conflict")),
        (11, 128, ("8 wavefronts, 2 at best", "4 of these wavefronts are bank conflicts")),
    ],
)
def test_conflicts_are_told_from_other_wavefronts(step, side, words):
    caption = banks(kernels.step(step).trace(side, side, 16), "tile_b", index=0).caption
    assert all(one in caption for one in words)
