"""How a warp's accesses to shared memory spread over its banks, wavefront by wavefront."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import analysis
from ..analysis.banks import BANKS
from ..analysis.warps import Ints, Mask
from ..trace import Trace, WarpAccess
from . import lanes, svg
from .figure import PALETTE, Figure
from .lanes import CELL, FAINT, WORD, Index
from .stepper import Stepper, stepper

LEFT, TOP = 92, 52
FINE = PALETTE["blue"]
EXTRA = PALETTE["vermilion"]


def banks(
    trace: Trace, array: str, kind: str = "load", warp: int = 0, index: Index = None
) -> Figure | Stepper:
    """Which lane goes to which of the 32 banks in which wavefront, a row for each wavefront.

    trace: a Trace with an array in shared memory; `index` counts this warp's accesses to the array
    in the trace's block, the first that it kept: a number draws that one, a range of numbers steps
    through them, None through the first 32 (and draws it when there is but one). Wavefronts beyond
    the fewest that could carry the words are in another colour; the caption says how many of them
    are bank conflicts. Raises ValueError if there is no such access, or the array is not in shared
    memory.
    """
    every = lanes.accesses(lanes.of_block(trace), array, kind, warp)
    if every[0].space != "shared":
        raise ValueError(
            f"{array} is in {every[0].space} memory, which has no banks: draw.coalescing shows it"
        )
    numbers = lanes.chosen(index, len(every))
    shown = [every[n] for n in numbers]
    costs = list(map(_cost, shown))
    total, best, conflicts = map(sum, zip(*costs))
    rows = max(cost.wavefronts for cost in costs)
    pictures = [_draw(access, rows, rows, total > best) for access in shown]
    labels = [
        f"{kind} {n}, from {lanes.first_element(access)}: {cost}"
        for n, access, cost in zip(numbers, shown, costs)
    ]
    see = "A row is a wavefront, a column a bank; " + (
        "what lies below the dashed line is a bank conflict"
        if conflicts == total - best > 0
        else f"below the dashed line lies what these words could do without; {conflicts} of these "
        "wavefronts are bank conflicts"
        if conflicts
        else "below the dashed line lies what these words could do without, though it is no bank "
        "conflict: the lanes are served in groups"
        if total > best
        else "none is in conflict"
    )
    if len(pictures) == 1:
        words = f"Warp {warp}, line {shown[0].line}, {labels[0]}. {see}"
        return Figure(pictures[0], f"Banks. {words}.", f"{words}.")
    words = (
        f"Warp {warp}, {lanes.part(len(shown), len(every))} {kind}s of {array}, one at a time: "
        f"{lanes.count(total, 'wavefront')}, {best} at best. {see}"
    )
    alt = f"Banks, step by step. {words}."
    return stepper(pictures, labels, alt, f"{words}.", f"{kind}s of {array}")


def frames(accesses: Sequence[WarpAccess]) -> list[tuple[str, str]]:
    """Of each access a drawing, as high as it needs, all of like elements, for a Stepper, and how
    many wavefronts it takes."""
    costs = list(map(_cost, accesses))
    most = max(cost.wavefronts for cost in costs)
    extra = any(cost.wavefronts > cost.best for cost in costs)
    told = (f"{c}; bank conflicts: {c.conflicts}" if c.conflicts else str(c) for c in costs)
    drawn = (_draw(a, cost.wavefronts, most, extra) for a, cost in zip(accesses, costs))
    return list(zip(drawn, told))


class _Cost(NamedTuple):
    """Of an access: its wavefronts, the fewest that could carry the distinct words, and how many
    are bank conflicts."""

    wavefronts: int
    best: int
    conflicts: int

    def __str__(self) -> str:
        return f"{lanes.count(self.wavefronts, 'wavefront')}, {self.best} at best"


def _cost(access: WarpAccess) -> _Cost:
    """What the access costs in shared memory."""
    counted = analysis.wavefronts, analysis.ideal_wavefronts, analysis.bank_conflicts
    return _Cost(*(int(function(*_lanes(access))) for function in counted))


def _lanes(access: WarpAccess) -> tuple[Ints, int, Mask, str]:
    """What the functions of `analysis.banks` take; an atomic is counted like a store, and a lane
    that wants a part of a word wants the word."""
    kind = "load" if access.kind == "load" else "store"
    return access.address // WORD * WORD, max(access.width, WORD), access.active, kind


def _draw(access: WarpAccess, rows: int, labels: int, extra: bool) -> str:
    """One frame, with room for `rows` wavefronts; labels: how many the highest frame has; extra:
    whether any frame has wavefronts beyond the ideal."""
    cost, wide = _cost(access), lanes.words(access)
    served: dict[tuple[int, int], list[int]] = {}  # by wavefront and first word: lanes
    wavefront = analysis.wavefront_of(*_lanes(access))
    for lane in np.flatnonzero(access.active):
        place = int(wavefront[lane]), int(access.address[lane]) // WORD
        served.setdefault(place, []).append(int(lane))
    right = LEFT + CELL * BANKS
    heads = [(LEFT + CELL * n + (CELL - 1) / 2, TOP - 8, n) for n in range(BANKS)]
    names = [f"wavefront {n}" if n < cost.wavefronts else "" for n in range(labels)]
    marks = []
    for (number, word), users in sorted(served.items(), key=lambda item: item[1]):
        x, y = LEFT + CELL * (word % BANKS), TOP + CELL * number
        colour = FINE if number < cost.best else EXTRA
        marks.append(lanes.Mark(x, y, wide, lanes.label(users, wide), colour))
    bottom = TOP + CELL * rows
    line, opacity = TOP + CELL * cost.best - 0.5, 0.8 if cost.wavefronts > cost.best else 0
    dashed = {"stroke": "currentColor", "fill": "none", "stroke_dasharray": "4 3"}
    rest = [(LEFT, TOP + CELL * n) for n in range(rows)]
    legend = [("a lane and its bank (* several lanes)", {"fill": FINE})]
    if extra:
        legend.append((f"beyond the ideal {lanes.count(cost.best, 'wavefront')}", {"fill": EXTRA}))
    return svg.document(
        right + 8,
        bottom + 34,
        svg.text((LEFT + right) / 2, TOP - 30, "bank", "middle"),
        svg.texts(heads, font_size=11, text_anchor="middle"),
        *lanes.row_names(names, LEFT, TOP),
        lanes.squares(rest, BANKS, **lanes.SQUARES, **FAINT),
        svg.path(f"M8 {svg.short(line)}H{right}", **dashed, stroke_opacity=opacity),
        lanes.marks(marks, EXTRA if extra else FINE),
        svg.legend(LEFT, bottom + 26, legend),
    )
