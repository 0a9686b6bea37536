"""Who computes what: the tile of C of one block, from the addresses it stores to."""

from __future__ import annotations

import numpy as np

from . import svg
from .figure import PALETTE, Figure

CELL = 18                           # pixels, of tiles up to 40 elements wide and high
LARGEST = 768                       # pixels, of the sides of larger tiles
SHOWN = ("blue", "vermilion")       # the first warps, in colour and with their lanes
SHADES = (0.08, 0.14, 0.24, 0.30)   # of the others, so that neighbours differ


def thread_mapping(trace, array: str = "C", kind: str = "store") -> Figure:
    """Which lane of which warp stores (or loads) each element of `array`, in the traced block.

    trace: a `kernels.trace.Trace`. The elements that the block touches are drawn where they lie
    in the matrix; warps 0 and 1 are in colour, with their lane numbers.
    Raises ValueError if the block does not touch the array.
    """
    owner = _owners(trace, array, kind)
    if not owner:
        raise ValueError(f"block {trace.block} has no {kind}s of {array}")
    top, left = (min(place[axis] for place in owner) for axis in (0, 1))
    rows, columns = (max(place[axis] for place in owner) + 1 - low
                     for axis, low in ((0, top), (1, left)))
    margin_x, margin_y = 62, 44
    cell = min(CELL, LARGEST // max(rows, columns))

    def corner(place):
        return margin_x + cell * (place[1] - left), margin_y + cell * (place[0] - top)

    warps = sorted({warp for warp, _ in owner.values()})
    parts = []
    for warp in warps:
        places = [corner(place) for place, (w, _) in owner.items() if w == warp]
        if warp < len(SHOWN):
            parts.append(svg.cells(places, cell - 1, fill=PALETTE[SHOWN[warp]]))
        else:
            parts.append(svg.cells(places, cell - 1, fill="currentColor",
                                   fill_opacity=SHADES[warp % len(SHADES)]))
    lanes = [svg.text(x + (cell - 1) / 2, y + 0.74 * cell, lane)
             for place, (warp, lane) in owner.items()
             if warp < len(SHOWN) and (cell == CELL or lane in (0, 31))
             for x, y in [corner(place)]]
    ground = PALETTE[SHOWN[-1]]         # the lighter of the two
    parts.append(svg.tag("g", *lanes, fill="#fff", data_ground=ground, font_size=round(2 + cell / 2, 1),
                         text_anchor="middle"))
    parts += _axes(array, top, left, rows, columns, margin_x, margin_y, cell)
    height = margin_y + cell * rows + 34
    lanes = "its lanes" if cell == CELL else "its lanes 0 and 31"
    entries = [(f"warp {warp}, with {lanes}", {"fill": PALETTE[SHOWN[warp]]})
               for warp in warps if warp < len(SHOWN)]
    if len(warps) > len(SHOWN):
        entries.append((f"warps {len(SHOWN)} to {warps[-1]}",
                        {"fill": "currentColor", "fill_opacity": 0.22}))
    parts.append(svg.legend(margin_x, height - 8, entries))
    drawing = svg.document(max(margin_x + cell * columns + 10, 660), height, *parts)
    shape = _shape_in_words([p for p, (w, _) in owner.items() if w == warps[0]])
    words = f"Warp {warps[0]} of block {trace.block[:2]} {kind}s {shape} of {array}"
    return Figure(drawing, f"Thread mapping. {words}.",
                  f"{words}: the tile of one block, element by element, from the traced addresses.")


def _owners(trace, array: str, kind: str) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column) -> (warp, lane), from the accesses that were kept."""
    owner = {}
    columns = trace.shapes.get(array, (0, 1))[-1]
    for access in trace.accesses:
        if (access.array, access.kind) != (array, kind):
            continue
        words = access.width // 4
        for lane in np.flatnonzero(access.active):
            first = int(access.offset[lane]) // 4
            for element in range(first, first + words):
                owner.setdefault(divmod(element, columns), (access.warp, int(lane)))
    return owner


def _axes(array, top, left, rows, columns, x, y, cell) -> list[str]:
    """Row and column numbers at the ends of each side."""
    ends = [(0, "start"), (columns - 1, "end")] if columns > 1 else [(0, "start")]
    parts = [svg.text(x + cell * (n + (anchor == "end")), y - 8, left + n, text_anchor=anchor)
             for n, anchor in ends]
    parts.append(svg.text(x + cell * columns / 2, y - 26, f"column of {array}",
                          text_anchor="middle"))
    parts += [svg.text(x - 8, y + cell * (n + 0.5) + 4, top + n, text_anchor="end")
              for n in sorted({0, rows - 1})]
    middle = y + cell * rows / 2
    parts.append(svg.text(16, middle, f"row of {array}", text_anchor="middle",
                          transform=f"rotate(-90 16 {middle:g})"))
    return parts


def _shape_in_words(places) -> str:
    rows, columns = ({place[axis] for place in places} for axis in (0, 1))
    if len(rows) == 1:
        return f"{len(columns)} elements of one row"
    if len(columns) == 1:
        return f"{len(rows)} elements of one column"
    return f"{len(rows)} rows by {len(columns)} columns"
