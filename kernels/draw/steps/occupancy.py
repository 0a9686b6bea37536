"""Occupancy: how many blocks of a kernel fit on an SM, and which resource says so."""

from __future__ import annotations

from typing import Any

from anywarp.analysis import Occupancy
from anywarp.draw import PALETTE, Figure, lanes, svg
from anywarp.draw.lanes import CELL, FAINT

MOST = 32  # blocks in a row, which is the most that any SM takes
LEFT, TOP, PITCH = 116, 34, 28
ALIKE = ("threads", "registers", "shared memory", "barriers")
NAMES = {"blocks": "blocks of an SM"} | dict(zip(ALIKE, ALIKE))


def occupancy(fit: Occupancy) -> Figure:
    """How many blocks each resource of an SM admits alone; the fewest is what fits.

    fit: what `anywarp.analysis.occupancy` returns. Resources that the kernel does not use are
    left out.
    """
    head = "blocks that fit on an SM at a time"
    rows, bottom = _rows(fit)
    legend: list[tuple[str, dict[str, Any]]] = [
        ("on the SM", {"fill": PALETTE["blue"]}),
        ("would fit, but for the others", {"fill": PALETTE["blue"], "fill_opacity": 0.35}),
        (f"{fit.limit}: the limit", {"fill": PALETTE["vermilion"]}),
    ]
    words = (
        f"{fit.which[0].upper()}{fit.which[1:]}: {lanes.count(fit.blocks, 'block')} "
        f"at a time, {fit.warps} of {fit.max_warps} warps ({fit.fraction:.0%}), limited "
        f"by {fit.limit}"
    )
    alone = ", ".join(f"{NAMES[name]} {count}" for name, count in _used(fit).items())
    return Figure(
        svg.document(
            LEFT + CELL * MOST + 28,
            bottom + 26,
            svg.text(LEFT + CELL * MOST / 2, TOP - 18, head, "middle"),
            *rows,
            svg.legend(LEFT, bottom + 18, legend),
        ),
        f"Occupancy. {words}. Blocks that each alone would admit: {alone}.",
        f"{words}.",
    )


def _used(fit: Occupancy) -> dict[str, int]:
    """The blocks that each resource in use admits."""
    return {name: fit.blocks_by[name] for name in NAMES if name in fit.blocks_by}


def _rows(fit: Occupancy) -> tuple[list[str], int]:
    """A row for each resource, and where they end."""
    rows, parts = _used(fit), []
    for n, (name, count) in enumerate(rows.items()):
        y = TOP + PITCH * n
        limit = name == fit.limit
        colour = PALETTE["vermilion" if limit else "blue"]
        parts.append(svg.text(LEFT - 8, y + CELL - 5, NAMES[name], "end"))
        looks: list[tuple[int, dict[str, Any]]] = [
            (MOST, FAINT),
            (min(count, MOST), {"stroke": colour, "stroke_opacity": 0.35}),
            (fit.blocks, {"stroke": colour}),
        ]
        parts += [
            lanes.squares([(LEFT, y)], blocks, **lanes.SQUARES, **look)
            for blocks, look in looks
            if blocks
        ]
        bold = "bold" if limit else None
        parts.append(svg.text(LEFT + CELL * MOST + 6, y + CELL - 5, count, font_weight=bold))
    bottom = TOP + PITCH * len(rows)
    x = LEFT + CELL * fit.blocks - 0.5
    line = f"M{svg.short(x)} {svg.short(TOP - 6)}V{svg.short(bottom - 4)}"
    return [*parts, svg.outline(line, stroke_dasharray="4 3")], bottom
