"""What the loads or stores of a warp ask memory for: lanes, sectors and cache lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import analysis
from ..trace import Trace, WarpAccess
from . import lanes, svg
from .figure import PALETTE, Figure
from .lanes import CELL, FAINT, WORD, WORDS, Index
from .stepper import Stepper, TooLarge, stepper

SECTOR = analysis.SECTOR_BYTES // WORD  # words
GAP = 4  # pixels between sectors
LEFT, TOP = 92, 30
MOST_ROWS = 40  # of lines that all frames show
USED = PALETTE["blue"]
NEW = PALETTE["vermilion"]
BEFORE = PALETTE["green"]
NARROW = (CELL - 1) // 3  # pixels of what was asked for before: told apart by more than a colour
TINT = 0.35
ALPHA = f"{round(255 * TINT):02x}"  # the same, as the end of a colour


@dataclass(frozen=True)
class _Touched:
    """One access: (first word, number of words) -> lanes; the sectors and lines they lie in."""

    users: dict[int, list[int]]
    sectors: list[int]
    lines: list[int]


def coalescing(
    trace: Trace,
    array: str,
    kind: str = "load",
    warp: int = 0,
    index: Index = None,
    block: Sequence[int] | None = None,
) -> Figure | Stepper:
    """The memory that a warp's accesses to an array touch, a row for each 128-byte line.

    trace: a Trace; `index` counts this warp's accesses to the array in
    `block`, x first: a number draws that one, a range of numbers steps through them, None
    through the first 32, or 16 if those are too large for a page (and draws it when there is but
    one). block: None for the first that the trace kept. Words that a lane uses, whole or in
    part, carry its number; the rest of their 32-byte sectors is asked for too. When stepping,
    sectors that an access before has asked for are told apart. Raises ValueError if there is no
    such access, or the block was not kept.
    """
    every = lanes.accesses(lanes.of_block(trace, block), array, kind, warp)
    numbers = lanes.chosen(index, len(every))
    if len(numbers) == 1:
        return _single(every[numbers[0]], warp)
    try:
        return _several(every, numbers, warp)
    except TooLarge:  # lanes at random, or nearly so
        if index is not None:
            raise
        return _several(every, numbers[: len(numbers) // 2], warp)


def _single(access: WarpAccess, warp: int) -> Figure:
    """The picture of one access."""
    touched = _touched(access)
    drawing = _draw(access, touched, touched.lines, _names([access], [touched]))
    used = int(np.unique(access.address[access.active]).size) * access.width
    words = (
        f"Warp {warp}, line {access.line}: its {int(access.active.sum())} lanes "
        f"{access.kind} {_amount(used, access.width)} of {access.array} in {verdict(access)}; "
        f"{analysis.SECTOR_BYTES * len(touched.sectors)} bytes asked for, {used} used"
    )
    return Figure(drawing, f"Coalescing. {words}.", f"{words}.")


def _several(accesses: Sequence[WarpAccess], numbers: Sequence[int], warp: int) -> Stepper:
    """The picture that steps through those of these numbers."""
    these = [accesses[n] for n in numbers]
    touched = [_touched(access) for access in these]
    kind, array = these[0].kind, these[0].array
    union = sorted({line for own in touched for line in own.lines})
    names = _names(these, touched)
    height = max(len(own.lines) for own in touched)
    frames, labels = [], []
    before: set[int] = set()
    asked = 0
    for access, own, number in zip(these, touched, numbers):
        rows = union if len(union) <= MOST_ROWS else own.lines + [None] * (height - len(own.lines))
        frames.append(_draw(access, own, rows, names, before))
        new = set(own.sectors) - before
        before |= new
        asked += len(own.sectors)
        labels.append(
            f"{kind} {number}: {lanes.count(len(own.sectors), 'sector')}, "
            f"{len(new) or 'none'} new; so far {asked} asked for, {len(before)} different"
        )
    words = f"Warp {warp}, {lanes.part(len(numbers), len(accesses))} {kind}s of {array}"
    each = [len(own.sectors) for own in touched]
    span = " to ".join(map(str, sorted({min(each), max(each)})))
    words += (
        f", one at a time: {asked} sectors asked for, {len(before)} different, "
        f"{span} by each {kind}."
    )
    green = "What is green and narrow was asked for before, and costs less if a cache still has it."
    alt = f"Coalescing, step by step. {words}"
    return stepper(frames, labels, alt, f"{words} {green}", f"{kind}s of {array}")


def frames(accesses: Sequence[WarpAccess]) -> list[str]:
    """A drawing of each access, as high as it needs, all of like elements, for a Stepper."""
    touched = [_touched(access) for access in accesses]
    most = max(len(own.lines) for own in touched)
    return [
        _draw(access, own, own.lines, _names([access], [own]), most=most)
        for access, own in zip(accesses, touched)
    ]


def verdict(access: WarpAccess) -> str:
    """How many sectors and lines an access asks for."""
    own = _touched(access)
    sectors, lines = len(own.sectors), len(own.lines)
    return f"{lanes.count(sectors, 'sector')} of {lanes.count(lines, 'cache line')}"


def _touched(access: WarpAccess) -> _Touched:
    """What the lanes that take part touch."""
    users: dict[int, list[int]] = {}
    for lane in np.flatnonzero(access.active):
        users.setdefault(int(access.address[lane]) // WORD, []).append(int(lane))
    return _Touched(
        users, sorted({word // SECTOR for word in users}), sorted({word // WORDS for word in users})
    )


def _amount(used: int, width: int) -> str:
    """Bytes in words or bytes."""
    return lanes.count(used // WORD, "word") if width >= WORD else lanes.count(used, "byte")


def _names(shown: Sequence[WarpAccess], touched: Sequence[_Touched]) -> dict[int, str]:
    """Of each line, the element with the lowest address that an access uses."""
    first: dict[int, tuple[int, WarpAccess, int]] = {}
    for access, own in zip(shown, touched):
        for word, users in own.users.items():
            line = word // WORDS
            if line not in first or word < first[line][0]:
                first[line] = word, access, users[0]
    return {line: lanes.element(access, lane) for line, (_, access, lane) in first.items()}


def _draw(
    access: WarpAccess,
    touched: _Touched,
    rows: Sequence[int | None],
    names: Mapping[int, str],
    before: set[int] | None = None,
    most: int = 0,
) -> str:
    """One frame; rows: the lines to draw, None for an empty place at the end; most: how many rows
    the highest frame has."""
    at = {line: TOP + CELL * n for n, line in enumerate(rows) if line is not None}
    wide = lanes.words(access)

    def x(word: int) -> int:
        return LEFT + CELL * (word % WORDS) + GAP * (word % WORDS // SECTOR)

    heads = [
        svg.text(x(SECTOR * n) + 4 * CELL, TOP - 10, f"sector {n}", "middle")
        for n in range(WORDS // SECTOR)
    ]
    elements = [*rows, *[None] * (most - len(rows))]
    size = 12 if max(map(len, names.values())) <= 11 else 11  # that the names fit
    labels = ["" if line is None else names.get(line, "") for line in elements]
    corners = [(x(SECTOR * n), TOP + CELL * row) for row in range(len(rows)) for n in range(4)]
    now = set(touched.sectors)
    tints = []
    for row, line in enumerate(elements):
        for n in range(4):
            sector = None if line is None else 4 * line + n
            look: dict[str, object] = {"stroke": NEW + ALPHA if sector in now else "none"}
            if before and sector in before:
                look = {"stroke": BEFORE, "stroke_width": NARROW}
            tints.append(lanes.squares([(x(SECTOR * n), TOP + CELL * row)], SECTOR, **look))
    marks = [
        lanes.Mark(x(word), at[word // WORDS], wide, lanes.label(users, wide), USED)
        for word, users in sorted(touched.users.items(), key=lambda item: item[1])
    ]
    bottom = TOP + CELL * len(rows)
    part = "" if access.width >= WORD else ", all or in part"
    legend: list[tuple[str, dict[str, object]]] = [
        (f"used{part}, with its lane (* several)", {"fill": USED}),
        ("asked for, not used", {"fill": NEW, "fill_opacity": TINT}),
        ("not touched", {"fill": "currentColor", "fill_opacity": FAINT["stroke_opacity"]}),
    ]
    if before is not None:
        legend.insert(2, ("asked for before", {"fill": BEFORE, "clip_path": "inset(4px 0)"}))
        legend[1] = ("asked for too", legend[1][1])
    return svg.document(
        x(WORDS - 1) + CELL + 8,
        bottom + 34,
        *heads,
        *lanes.row_names(labels, LEFT, TOP, font_size=size),
        lanes.squares(corners, SECTOR, **lanes.SQUARES, **FAINT),
        svg.tag("g", *tints, **lanes.SQUARES),
        lanes.marks(marks, USED),
        svg.legend(LEFT, bottom + 26, legend),
    )
