"""Occupancy: how many blocks of a kernel fit on an SM, and which resource says so."""

from __future__ import annotations

from . import lanes, svg
from .figure import PALETTE, Figure
from .lanes import CELL, FAINT

MOST = 32  # blocks in a row, which is the most that any SM takes
LEFT, TOP, PITCH = 116, 34, 28
NAMES = {
    "blocks": "blocks of an SM",
    "threads": "threads",
    "registers": "registers",
    "shared memory": "shared memory",
    "barriers": "barriers",
}


def occupancy(found) -> Figure:
    """How many blocks each resource of an SM admits alone; the fewest is what fits.

    found: what `kernels.analysis.occupancy` returns. Resources that the kernel does not use are
    left out.
    """
    rows = {name: found.blocks_by[name] for name in NAMES if name in found.blocks_by}
    parts = [
        svg.text(
            LEFT + CELL * MOST / 2,
            TOP - 18,
            "blocks that fit on an SM at a time",
            text_anchor="middle",
        )
    ]
    for n, (name, count) in enumerate(rows.items()):
        y = TOP + PITCH * n
        limit = name == found.limit
        colour = PALETTE["vermilion" if limit else "blue"]
        shown = min(count, MOST)
        parts.append(svg.text(LEFT - 8, y + CELL - 5, NAMES[name], text_anchor="end"))
        parts.append(lanes.squares([(LEFT, y)], MOST, **lanes.SQUARES, **FAINT))
        if shown:
            parts.append(
                lanes.squares(
                    [(LEFT, y)], shown, **lanes.SQUARES, stroke=colour, stroke_opacity=0.35
                )
            )
        if found.blocks:
            parts.append(lanes.squares([(LEFT, y)], found.blocks, **lanes.SQUARES, stroke=colour))
        parts.append(
            svg.text(
                LEFT + CELL * MOST + 6, y + CELL - 5, count, font_weight="bold" if limit else None
            )
        )
    bottom = TOP + PITCH * len(rows)
    x = LEFT + CELL * found.blocks - 0.5
    parts.append(
        svg.tag(
            "path",
            d=f"M{svg.short(x)} {TOP - 6}V{bottom - 4}",
            fill="none",
            stroke="currentColor",
            stroke_dasharray="4 3",
        )
    )
    parts.append(
        svg.legend(
            LEFT,
            bottom + 18,
            [
                ("on the SM", {"fill": PALETTE["blue"]}),
                ("would fit, but for the others", {"fill": PALETTE["blue"], "fill_opacity": 0.35}),
                (f"{found.limit}: the limit", {"fill": PALETTE["vermilion"]}),
            ],
        )
    )
    words = (
        f"Compute capability {found.compute_capability}: {lanes.count(found.blocks, 'block')} "
        f"at a time, {found.warps} of {found.max_warps} warps ({found.fraction:.0%}), limited "
        f"by {found.limit}"
    )
    alone = ", ".join(f"{NAMES[name]} {count}" for name, count in rows.items())
    return Figure(
        svg.document(LEFT + CELL * MOST + 28, bottom + 26, *parts),
        f"Occupancy. {words}. Blocks that each alone would admit: {alone}.",
        f"{words}.",
    )
