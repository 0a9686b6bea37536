"""The picture of the memories: bars on a logarithmic scale, as long as the table says."""

import math

import pytest
from drawn import elements

from kernels.analysis.hierarchy import hierarchy
from kernels.draw import PALETTE, memory


def drawn(figure):
    """(left, width) of the bars, without the legend, in the order in which they are drawn."""
    bars = [r for r in elements(figure, "rect") if r["height"] == "11"]
    return [(float(r["x"]), float(r["width"]), r["fill"], r.get("stroke-dasharray")) for r in bars]


def test_bars_are_logarithms():
    figure = memory()
    sizes = [level.bytes for level in hierarchy()]
    speeds = [level.gbs * 1e9 for level in hierarchy()]
    bars = drawn(figure)
    assert len(bars) == len(sizes) + len(speeds) == 8
    for values, low, per_decade, found in (
        (sizes, 6, 172 / 6, bars[: len(sizes)]),
        (speeds, 11, 172 / 4, bars[len(sizes) :]),
    ):
        wanted = [(value and per_decade * (math.log10(value) - low)) or 0 for value in values]
        assert [width for _, width, *_ in found] == pytest.approx(wanted, abs=0.01)
    assert {bar[2:] for bar in bars} == {(PALETTE["blue"], None)}
