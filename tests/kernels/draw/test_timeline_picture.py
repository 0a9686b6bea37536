"""The timeline: machine code in its order, the model's cycles, the records beside them."""

import itertools

import pytest
from drawn import elements, texts

import kernels
from anywarp.sass.hot_loop import tile_loop
from kernels.analysis.issue import LOAD, STORE, issue
from kernels.draw import PALETTE, timeline
from kernels.draw.steps.timeline import FIRST, LATENCY, LEFT, PASSES, WIDE


@pytest.fixture(scope="module")
def loop():
    return tile_loop(kernels.step(12), 8 * 8 * 8)


def placed(figure, colour):
    """(left, top, right) of the bars of one colour, without the legend."""
    return [
        (float(r["x"]), float(r["y"]), float(r["x"]) + float(r["width"]))
        for r in elements(figure, "rect", fill=colour)
        if r["height"] == "10"
    ]


def test_bars_are_where_the_model_has_them(loop):
    figure = timeline(12, blocks=[1])
    warps = issue(loop, 2, 1, LATENCY, PASSES)
    start = warps[0].cycles[FIRST * len(loop)]
    span = warps[0].cycles[(FIRST + 2) * len(loop)] - start
    assert f"{span} cycles" in texts(figure).values()
    tops = sorted({top for _, top, _ in placed(figure, PALETTE["green"])})
    assert len(tops) == 2  # a row for each warp
    for warp, top in zip(warps, tops):
        shown = [c - start for c in warp.cycles]
        names = list(itertools.islice(itertools.cycle(loop), len(shown)))
        for kind, colour in ((LOAD, "blue"), (STORE, "vermilion"), ("fma", "green")):
            found = [(a, b) for a, y, b in placed(figure, PALETTE[colour]) if y == top]
            inside = [c for c, name in zip(shown, names) if name == kind and 0 <= c < span]
            for cycle in inside:  # every one of them lies in a bar of its kind
                x = LEFT + WIDE * cycle / span
                assert any(a - 0.02 <= x <= b + 0.02 for a, b in found), (kind, cycle)
            if kind == "fma":
                long = sum(b - a for a, b in found) * span / WIDE
                assert len(inside) < long < 1.3 * len(inside)  # with the loads between


def test_cycles_of_the_model_and_of_the_records():
    figure = timeline(12, 13)
    record = kernels.results("NVIDIA H200").at("12_warp_tiling", 4096)
    tiles = 32 * 32 * 512 / 132  # of an SM
    measured = record.ms / 1000 * record.sm_clock_mhz * 1e6 / tiles
    assert f"12 warp tiling, 2 blocks: 1128 in the model, {measured:.0f} recorded" in figure.caption
    # the model never takes longer than the hardware, which waits for more
    assert measured > 1128 == 2 * len(tile_loop(kernels.step(12), 512))
    assert "13 register prefetch, 2 blocks" in figure.caption
    other = timeline(7, blocks=(1, 2))
    assert other.caption.count("recorded") == 1  # nobody timed it with one block
    assert "07 thread tile 1d: 1 block on the SM" in texts(other).values()


def test_steps_without_barriers_are_refused():
    with pytest.raises(ValueError):
        timeline(3)
    with pytest.raises(ValueError, match="needs a step"):
        timeline()
