"""The timeline: machine code in its order, the model's cycles, the records beside them."""

import itertools
import re

import pytest
from drawn import elements, texts

import kernels
from anywarp.sass import decode, tile_words
from kernels.analysis import sm_limits
from kernels.analysis.issue import LOAD, SHARED, SHARED_LOAD, STORE, issue
from kernels.draw import PALETTE, timeline
from kernels.draw.steps.timeline import FIRST, FMA, LATENCY, LEFT, PASSES, WIDE


@pytest.fixture(scope="module")
def loop():
    return [decode(word) for word in tile_words(kernels.step(12), 8 * 8 * 8)]


def placed(figure, colour):
    """(left, middle, right) of the bars of one colour, without the legend."""
    steps = "".join(path["d"] for path in elements(figure, "path", stroke=colour))
    numbers = [map(float, bar) for bar in re.findall(r"M([0-9.]+) ([0-9.]+)h([0-9.]+)", steps)]
    return [(left, middle, left + width) for left, middle, width in numbers]


def test_bars_are_where_the_model_has_them(loop):
    figure = timeline(12, blocks=[1])
    # wavefronts of four quarters: of loads, of five stores of which one takes four, and of loads of
    # global memory, 16 and 4 in turn, with the stores of C at the end of 32 tiles
    of_loads = 4 * (32 * 20 + 128) / (32 * 2 + 16)
    pipe = {SHARED_LOAD: (4 * 2, SHARED), STORE: (4 * 8 / 5, 0), LOAD: (of_loads, LATENCY)}
    warps = issue(loop, pipe, 2, 1, PASSES)
    start = warps[0].cycles[FIRST * len(loop)]
    span = warps[0].cycles[(FIRST + 2) * len(loop)] - start
    assert f"{span} cycles" in texts(figure).values()
    tops = sorted({top for _, top, _ in placed(figure, PALETTE["green"])})
    assert len(tops) == 2  # a row for each warp
    for warp, top in zip(warps, tops):
        shown = [c - start for c in warp.cycles]
        names = [i.name for i in itertools.islice(itertools.cycle(loop), len(shown))]
        for kind, colour in ((LOAD, "blue"), (STORE, "vermilion"), (FMA, "green")):
            found = [(a, b) for a, y, b in placed(figure, PALETTE[colour]) if y == top]
            inside = [c for c, name in zip(shown, names) if name == kind and 0 <= c < span]
            for cycle in inside:  # every one of them lies in a bar of its kind
                x = LEFT + WIDE * cycle / span
                assert any(a - 0.02 <= x <= b + 0.02 for a, b in found), (kind, cycle)
            if kind == FMA:
                long = sum(b - a for a, b in found) * span / WIDE
                assert len(inside) < long < 1.5 * len(inside)  # with what stands between


def off(figure):
    """By panel: the model's cycles, those recorded, and by how many per cent they differ."""
    found = re.findall(
        r"(\d\d [^:;]*): (\d+) in the model, (\d+) recorded \(([+-]\d+) %\)", figure.caption
    )
    return {name: tuple(map(int, numbers)) for name, *numbers in found}


def test_cycles_of_the_model_and_of_the_records():
    found = off(timeline(11, 12, 13, "14 BUFFERS=1", 14))
    counted = kernels.stalls("NVIDIA H200")["steps"]["12_warp_tiling"]
    measured = sm_limits.cycles(counted, 132) * 128 * 128 * 8 / 32  # a tile's FMAs
    model, recorded, miss = found["12 warp tiling, 2 blocks"]
    assert recorded == round(measured) and miss == round(100 * (model / measured - 1))
    assert len(found) == 5 and all(abs(miss) <= 7 for _, _, miss in found.values())
    # it knows who is faster than whom
    by_model, by_record = (sorted(found, key=lambda name: found[name][n]) for n in (0, 1))
    assert by_model == by_record


def test_a_lone_block_beside_the_price_of_a_tile_in_small_products():
    results = kernels.results("NVIDIA H200")
    short, long = (results.at("13_register_prefetch", n) for n in (512, 1024))
    found = off(timeline(13, "14", blocks=[1]))
    price = (long.ms - short.ms) * 1e3 * long.sm_clock_mhz / 64
    assert found["13 register prefetch, 1 block"][1] == round(price)
    other = timeline(7, blocks=(1, 2))
    assert other.caption.count("recorded") == 1  # its small products fill an SM
    assert "07 thread tile 1d: 1 block on the SM" in texts(other).values()


def test_the_latency_is_that_of_device_memory():
    assert kernels.latency("NVIDIA H200")["latency"]["by size"][-1]["cycles"] == pytest.approx(
        LATENCY, rel=0.01
    )


def test_steps_without_barriers_are_refused():
    with pytest.raises(ValueError):
        timeline(3)
    with pytest.raises(ValueError, match="needs a step"):
        timeline()
