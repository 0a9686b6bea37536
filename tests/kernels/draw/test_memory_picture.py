"""The picture of the memories: bars on a logarithmic scale, as long as the table says."""

import math

import pytest
from drawn import elements

from kernels.analysis.hierarchy import CHIPS, hierarchy
from kernels.draw import PALETTE, memory


def drawn(figure):
    """(left, width) of the bars, without the legend, in the order in which they are drawn."""
    bars = [r for r in elements(figure, "rect") if r["height"] == "11"]
    return [(float(r["x"]), float(r["width"]), r["fill"], r.get("stroke-dasharray")) for r in bars]


def test_bars_are_logarithms():
    figure = memory()
    levels = list(zip(*map(hierarchy, CHIPS)))
    sizes = [one.bytes for pair in levels for one in pair]
    speeds = [one.gbs and one.gbs * 1e9 for pair in levels for one in pair]
    bars = drawn(figure)
    assert len(bars) == len(sizes) + len(speeds) == 16
    for values, low, per_decade, found in (
        (sizes, 6, 172 / 6, bars[: len(sizes)]),
        (speeds, 11, 172 / 4, bars[len(sizes) :]),
    ):
        wanted = [(value and per_decade * (math.log10(value) - low)) or 0 for value in values]
        assert [width for _, width, *_ in found] == pytest.approx(wanted, abs=0.01)
    first, second = drawn(figure)[:2]
    assert (first[2], second[2]) == (PALETTE["blue"], PALETTE["vermilion"])
    assert first[3] is None and second[3]  # also told apart without colour
