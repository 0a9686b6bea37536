"""What a GPU consists of: SMs with schedulers, and the memories, nested as they are shared."""

from __future__ import annotations

from collections.abc import Sequence

from anywarp.analysis import KIB, SCHEDULERS
from anywarp.draw import PALETTE, Figure, svg

from ...analysis.hierarchy import L1, MIB, Level, hierarchy, measured
from ...records import RECORDED_ON, Results

MARGIN, LINE, HEAD = 8, 15, 20  # pixels around a box, of a line of text, and of a title
COLOURS = dict(zip(("registers", "shared memory and L1", "L2", "device memory"), PALETTE.values()))


def memory(live: Results | None = None) -> Figure:
    """An H200's SMs and its memories, each in what owns it, with their sizes and speeds.

    live: another GPU, as `kernels.here.benchmark` has timed it; its numbers stand below, if its
    memories are known. The numbers and where they come from are in `analysis.hierarchy`.
    """
    gpus = {RECORDED_ON: hierarchy()}
    if live is not None and live.provenance["compute_capability"] in L1:
        gpus[f"{live.gpu}, here"] = measured(live)
    registers, shared, l2, device = zip(*gpus.values())
    high = MARGIN + LINE * (1 + len(gpus))  # of a level
    sms = registers[0].bytes // (registers[0].each or 1)
    whole, each = svg.NARROW - 2 * MARGIN, (svg.NARROW - 4 * MARGIN) / SCHEDULERS
    parts, y = [], HEAD + 3 + HEAD
    for n in range(SCHEDULERS):
        x = 2 * MARGIN + n * each
        parts.append(svg.rect(x + 1, y, each - 2, LINE + MARGIN, **svg.OUTLINE))
        parts.append(svg.text(x + each / 2, y + LINE, "scheduler", "middle", font_size=11))
    y += LINE + 2 * MARGIN
    for levels in registers, shared:
        parts.append(_level(2 * MARGIN, y, whole - 2 * MARGIN, high, levels))
        y += high + MARGIN
    parts.append(_box(MARGIN, HEAD, whole, y - HEAD, f"an SM, one of {sms}"))
    parts.append(_level(MARGIN, y := y + MARGIN, whole, high, l2))
    parts.append(_box(0, 0, svg.NARROW, y + high + MARGIN, " and ".join(gpus)))
    parts.append(_level(0, y := y + high + 2 * MARGIN, svg.NARROW, high, device))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{one.name} {_size(one)}, {_speed(one)}" for one in levels)
        for name, levels in gpus.items()
    )
    return Figure(
        svg.narrow(y + high + 4, *parts),
        f"The memories of a GPU. {said}.",
        "What lies inside belongs to what is around it. Sizes and speeds are those of all SMs "
        "together, as peaks: computed from what an SM can do in a cycle, recorded on the H200 of "
        "this book, or of NVIDIA's data sheet.",
    )


def _box(x: float, y: float, wide: float, high: float, title: str) -> str:
    """A frame with a title in its corner."""
    frame = svg.rect(x + 0.5, y + 0.5, wide - 1, high, **svg.OUTLINE, stroke_opacity=0.6)
    return frame + svg.text(x + MARGIN, y + LINE, title, font_weight="bold")


def _level(x: float, y: float, wide: float, high: float, levels: Sequence[Level]) -> str:
    """One kind of memory, with a line for each GPU."""
    name = levels[0].name
    look = {"fill": COLOURS[name], "fill_opacity": 0.3, "stroke": "currentColor"}
    lines = [(x + MARGIN, y + LINE * (n + 2), f"{_size(one)}, {_speed(one)}")
             for n, one in enumerate(levels)]  # fmt: skip
    title = svg.text(x + MARGIN, y + LINE, name)
    return svg.rect(x, y, wide, high, **look) + title + svg.texts(lines, font_size=11)


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
