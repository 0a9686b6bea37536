"""How a warp's accesses to shared memory spread over its banks, wavefront by wavefront."""

from __future__ import annotations

from collections.abc import Sequence

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
Served = dict[tuple[int, int], list[int]]  # (wavefront, first word) -> lanes
FINE = PALETTE["blue"]
EXTRA = PALETTE["vermilion"]


def banks(
    trace: Trace,
    array: str,
    kind: str = "load",
    warp: int = 0,
    index: Index = None,
    block: Sequence[int] | None = None,
) -> Figure | Stepper:
    """Which lane goes to which of the 32 banks in which wavefront, a row for each wavefront.

    trace: a Trace with an array in shared memory; `index` counts this warp's
    accesses to the array in `block`, x first: a number draws that one, a range of numbers steps
    through them, None through the first 32 (and draws it when there is but one). block: None for
    the first that the trace kept. Wavefronts beyond the fewest that could carry the words are in
    another colour; the caption says how many of them are bank conflicts. Raises ValueError if
    there is no such access, the block was not kept, or the array is not in shared memory.
    """
    every = lanes.accesses(lanes.of_block(trace, block), array, kind, warp)
    if every[0].space != "shared":
        raise ValueError(
            f"{array} is in {every[0].space} memory, which has no banks: draw.coalescing shows it"
        )
    numbers = lanes.chosen(index, len(every))
    shown = [every[n] for n in numbers]
    served = list(map(_served, shown))
    rows = max(map(_height, served))
    total, best = (sum(map(count, shown)) for count in (_count, _ideal))
    frames = [_draw(access, each, rows, total > best) for access, each in zip(shown, served)]
    labels = [
        f"{kind} {n}, from {_first(access)}: {_verdict(access)}"
        for n, access in zip(numbers, shown)
    ]
    conflicts = sum(int(analysis.bank_conflicts(*_lanes(access))) for access in shown)
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
    if len(frames) == 1:
        words = f"Warp {warp}, line {shown[0].line}, {labels[0]}. {see}"
        return Figure(frames[0], f"Banks. {words}.", f"{words}.")
    words = (
        f"Warp {warp}, {lanes.part(len(frames), len(every))} {kind}s of {array}, one at a time: "
        f"{lanes.count(total, 'wavefront')}, {best} at best. {see}"
    )
    alt = f"Banks, step by step. {words}."
    return stepper(frames, labels, alt, f"{words}.", f"{kind}s of {array}")


def frames(accesses: Sequence[WarpAccess]) -> list[str]:
    """A drawing of each access, as high as it needs, all of like elements, for a Stepper."""
    served = list(map(_served, accesses))
    rows = list(map(_height, served))
    conflicts = any(_count(access) > _ideal(access) for access in accesses)
    return [
        _draw(access, each, height, conflicts, max(rows))
        for access, each, height in zip(accesses, served, rows)
    ]


def verdict(access: WarpAccess) -> str:
    """How many wavefronts an access takes."""
    conflicts = int(analysis.bank_conflicts(*_lanes(access)))
    return _verdict(access) + (f"; bank conflicts: {conflicts}" if conflicts else "")


def _served(access: WarpAccess) -> Served:
    """The lanes that each wavefront serves with each word."""
    wavefront = analysis.wavefront_of(*_lanes(access))
    served: Served = {}
    for lane in np.flatnonzero(access.active):
        place = int(wavefront[lane]), int(access.address[lane]) // WORD
        served.setdefault(place, []).append(int(lane))
    return served


def _height(served: Served) -> int:
    """The wavefronts from the first to the last that serves a lane."""
    return max(wavefront for wavefront, _ in served) + 1


def _count(access: WarpAccess) -> int:
    """The wavefronts."""
    return int(analysis.wavefronts(*_lanes(access)))


def _ideal(access: WarpAccess) -> int:
    """The fewest wavefronts that could carry the distinct words."""
    return int(analysis.ideal_wavefronts(*_lanes(access)))


def _lanes(access: WarpAccess) -> tuple[Ints, int, Mask, str]:
    """What the functions of `analysis.banks` take; an atomic is counted like a store, and a lane
    that wants a part of a word wants the word."""
    kind = "load" if access.kind == "load" else "store"
    return access.address // WORD * WORD, max(access.width, WORD), access.active, kind


def _verdict(access: WarpAccess) -> str:
    """Wavefronts, and those at best, in words."""
    return f"{lanes.count(_count(access), 'wavefront')}, {_ideal(access)} at best"


def _first(access: WarpAccess) -> str:
    """The element of the first lane that takes part."""
    return lanes.element(access, int(np.flatnonzero(access.active)[0]))


def _draw(access: WarpAccess, served: Served, rows: int, conflicts: bool, labels: int = 0) -> str:
    """One frame, with room for `rows` wavefronts; whether any frame has conflicts, and how many
    labels the highest has."""
    ideal, wide = _ideal(access), lanes.words(access)
    used = {wavefront for wavefront, _ in served}
    right = LEFT + CELL * BANKS
    heads = [(LEFT + CELL * n + (CELL - 1) / 2, TOP - 8, n) for n in range(BANKS)]
    names = [f"wavefront {n}" if n in used else "" for n in range(max(rows, labels))]
    marks = []
    for (wavefront, word), users in sorted(served.items(), key=lambda item: item[1]):
        x, y = LEFT + CELL * (word % BANKS), TOP + CELL * wavefront
        colour = FINE if wavefront < ideal else EXTRA
        marks.append(lanes.Mark(x, y, wide, lanes.label(users, wide), colour))
    bottom = TOP + CELL * rows
    line, opacity = TOP + CELL * ideal - 0.5, 0.8 if len(used) > ideal else 0
    dashed = {"stroke": "currentColor", "fill": "none", "stroke_dasharray": "4 3"}
    rest = [(LEFT, TOP + CELL * n) for n in range(rows)]
    legend = [("a lane and its bank (* several lanes)", {"fill": FINE})]
    if conflicts:
        legend.append((f"beyond the ideal {lanes.count(ideal, 'wavefront')}", {"fill": EXTRA}))
    return svg.document(
        right + 8,
        bottom + 34,
        svg.text((LEFT + right) / 2, TOP - 30, "bank", "middle"),
        svg.texts(heads, font_size=11, text_anchor="middle"),
        *lanes.row_names(names, LEFT, TOP),
        lanes.squares(rest, BANKS, **lanes.SQUARES, **FAINT),
        svg.path(f"M8 {svg.short(line)}H{right}", **dashed, stroke_opacity=opacity),
        lanes.marks(marks, EXTRA if conflicts else FINE),
        svg.legend(LEFT, bottom + 26, legend),
    )
