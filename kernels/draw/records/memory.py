"""The memories of a GPU: how large and how fast, on scales where a step is a factor of ten."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from anywarp.analysis import KIB
from anywarp.draw import PALETTE, Figure, svg

from ...analysis.hierarchy import CHIPS, L1, MIB, Level, hierarchy, measured
from ...records import Results

LEFT, WIDE = 72, 172  # of the bars, as long as a scale is
PITCH, BAR, BETWEEN = 16, 11, 9  # of the rows, and between the levels
COLOURS = [PALETTE["blue"], PALETTE["vermilion"]]
HATCHES = [None, "3 2"]  # outlines, that the colour is not all there is
LABELS = {"shared memory and L1": ("shared", "and L1"), "device memory": ("device", "memory")}
SOURCES = {
    "computed": "computed from what an SM can do in a cycle",
    "recorded": "recorded on the H200 of this book",
    "measured": "measured here just now, of device memory by copying",
    "data sheet": "NVIDIA's data sheet",
}
SIZES, SPEEDS = (1e6, 1e12), (1e2, 1e6)  # ends of the scales: bytes, and GB a second


def memory(live: Results | None = None) -> Figure:
    """Registers, shared memory and L1, L2 and device memory of two GPUs: their sizes and speeds.

    live: another GPU, as `kernels.here.benchmark` has timed it, in place of the second, if its
    memories are known. The numbers and where they come from are in `analysis.hierarchy`.
    """
    first, second = CHIPS
    levels = {first: hierarchy(first), second: hierarchy(second)}
    if live is not None and live.provenance["compute_capability"] in L1:
        levels = {first: hierarchy(first), f"{live.gpu}, here": measured(live)}
    parts, y = [], 14.0
    for title, ends, value, words, ticks in (
        ("Size, all SMs together", SIZES, "bytes", _size, {1e6: "1 MB", 1e9: "1 GB"}),
        ("Speed, bytes a second", SPEEDS, "gbs", _speed, {1e3: "1 TB/s", 1e5: "100 TB/s"}),
    ):
        drawn, y = _scale(title, y, ends, levels.values(), value, words, ticks)
        parts += drawn
        y += 26
    legend = [
        (name, {"fill": colour, "stroke": "currentColor", "stroke_dasharray": hatch})
        for name, colour, hatch in zip(levels, COLOURS, HATCHES)
    ]
    parts.append(svg.legend(LEFT, y - 2, legend))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{level.name} {_size(level)}, {_speed(level)}" for level in each)
        for name, each in levels.items()
    )
    sources = {level.speed for each in levels.values() for level in each}
    meaning = ", ".join(words for source, words in SOURCES.items() if source in sources)
    return Figure(
        svg.narrow(y + 8, *parts),
        f"The memories of a GPU. {said}.",
        "Each line of the grid is ten times the one before. What lies nearer to the arithmetic is "
        f"faster, and only device memory is large. Speeds are peaks: {meaning}.",
    )


def _scale(
    title: str,
    y: float,
    ends: tuple[float, float],
    levels: Iterable[Sequence[Level]],
    value: str,
    words: Callable[[Level], str],
    ticks: Mapping[float, str],
) -> tuple[list[str], float]:
    """Bars of one quantity below its title, and where they end."""
    low, high = (math.log10(end) for end in ends)

    def place(amount: float) -> float:
        return WIDE * (math.log10(amount) - low) / (high - low)

    head = [svg.text(0, y, title, font_weight="bold", font_size=13)]
    y = top = y + 26
    bars: list[str] = []
    for same in zip(*levels):
        lines: tuple[str, ...] = LABELS.get(same[0].name, (same[0].name,))
        bars += [
            svg.text(LEFT - 6, y + 10 + PITCH * n, line, "end") for n, line in enumerate(lines)
        ]
        for level, colour, hatch in zip(same, COLOURS, HATCHES):
            amount = getattr(level, value)
            long = 0 if amount is None else place(amount)
            look = {"fill": colour, "stroke": "currentColor", "stroke_opacity": 0.7}
            bars.append(svg.rect(LEFT, y, long, BAR, **look, stroke_dasharray=hatch))
            bars.append(svg.text(LEFT + long + 5, y + 10, words(level), font_size=11))
            y += PITCH
        y += BETWEEN + PITCH * max(len(lines) - len(same), 0)
    grid = "".join(
        f"M{svg.short(LEFT + place(10.0**n))} {svg.short(top - 4)}V{svg.short(y - BETWEEN + 2)}"
        for n in range(round(low), round(high) + 1)
    )
    head += [
        svg.text(LEFT + place(tick), top - 8, name, font_size=11, text_anchor="middle")
        for tick, name in ticks.items()
    ]
    ruled = svg.path(grid, stroke="currentColor", stroke_opacity=0.25)
    return [*head, ruled, *bars], y - BETWEEN


def _size(level: Level) -> str:
    """ "33 MiB = 132 x 256 KiB"; device memory counts in powers of ten, as its makers do."""
    if level.bytes >= 1e10:
        return f"{level.bytes / 1e9:.3g} GB"
    words = f"{level.bytes / MIB:.3g} MiB"
    if level.each:
        words += f" = {level.bytes // level.each} x {level.each // KIB} KiB"
    return words


def _speed(level: Level) -> str:
    """A level's bandwidth in words, and where it comes from: "3.35 TB/s recorded"."""
    if level.gbs is None:
        return level.speed
    words = f"{level.gbs / 1000:.3g} TB/s" if level.gbs >= 1000 else f"{level.gbs:.3g} GB/s"
    return f"{words} {level.speed}"
