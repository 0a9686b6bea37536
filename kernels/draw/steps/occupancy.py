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


def occupancy(fit: Occupancy, live: Occupancy | None = None) -> Figure:
    """How many blocks each resource of an SM admits alone; the fewest is what fits.

    fit: what `anywarp.analysis.occupancy` returns. Resources that the kernel does not use are
    left out. live: the same of another GPU, which stands below; None for none.
    """
    every = [fit] if live is None else [fit, live]
    head = "blocks that fit on an SM at a time"
    parts, top = [svg.text(LEFT + CELL * MOST / 2, TOP - 18, head, "middle")], float(TOP)
    for each in every:
        if live is not None:
            parts.append(svg.text(LEFT, top + 12, each.which, font_weight="bold"))
            top += PITCH
        drawn, top = _rows(each, top)
        parts += drawn
    limits = " or ".join(dict.fromkeys(each.limit for each in every))
    legend: list[tuple[str, dict[str, Any]]] = [
        ("on the SM", {"fill": PALETTE["blue"]}),
        ("would fit, but for the others", {"fill": PALETTE["blue"], "fill_opacity": 0.35}),
        (f"{limits}: the limit", {"fill": PALETTE["vermilion"]}),
    ]
    parts.append(svg.legend(LEFT, top + 18, legend))
    words = ". ".join(map(_words, every))
    alone = ". ".join(
        "Blocks that each alone would admit: "
        + ", ".join(f"{NAMES[name]} {count}" for name, count in _used(each).items())
        for each in every
    )
    return Figure(
        svg.document(LEFT + CELL * MOST + 28, top + 26, *parts),
        f"Occupancy. {words}. {alone}.",
        f"{words}.",
    )


def _used(fit: Occupancy) -> dict[str, int]:
    """The blocks that each resource in use admits."""
    return {name: fit.blocks_by[name] for name in NAMES if name in fit.blocks_by}


def _words(fit: Occupancy) -> str:
    """How many blocks and warps are on an SM, and what limits them, in words."""
    which = fit.which
    return (
        f"{which[0].upper()}{which[1:]}: {lanes.count(fit.blocks, 'block')} "
        f"at a time, {fit.warps} of {fit.max_warps} warps ({fit.fraction:.0%}), limited "
        f"by {fit.limit}"
    )


def _rows(fit: Occupancy, top: float) -> tuple[list[str], float]:
    """A row for each resource, and where they end."""
    rows, parts = _used(fit), []
    for n, (name, count) in enumerate(rows.items()):
        y = top + PITCH * n
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
    bottom = top + PITCH * len(rows)
    x = LEFT + CELL * fit.blocks - 0.5
    line = f"M{svg.short(x)} {svg.short(top - 6)}V{svg.short(bottom - 4)}"
    return [*parts, svg.outline(line, stroke_dasharray="4 3")], bottom
