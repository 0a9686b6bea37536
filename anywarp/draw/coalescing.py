"""What the loads or stores of a warp ask memory for: lanes, sectors and cache lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import analysis
from ..analysis.pipe import l1_cycles
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
class _Asked:
    """What an access asks memory for: (first word -> lanes), and the sectors and lines it is in."""

    access: WarpAccess
    users: dict[int, list[int]]

    @property
    def sectors(self) -> set[int]:
        return {word // SECTOR for word in self.users}

    @property
    def lines(self) -> list[int]:
        return sorted({word // WORDS for word in self.users})

    def __str__(self) -> str:
        sectors, lines = len(self.sectors), len(self.lines)
        return f"{lanes.count(sectors, 'sector')} of {lanes.count(lines, 'cache line')}"


def _asked(access: WarpAccess) -> _Asked:
    """What the active lanes of the access ask for, by the first word of each."""
    users: dict[int, list[int]] = {}
    for lane in np.flatnonzero(access.active).tolist():
        users.setdefault(int(access.address[lane]) // WORD, []).append(lane)
    return _Asked(access, users)


def coalescing(
    trace: Trace, array: str, kind: str = "load", warp: int = 0, index: Index = None,
    cycles: bool = False,
) -> Figure | Stepper:  # fmt: skip
    """The memory that a warp's accesses to an array touch, a row for each 128-byte line.

    trace: a Trace; `index` counts this warp's accesses to the array in the trace's block, the first
    that it kept: a number draws that one, a range of numbers steps through them, None through the
    first 32, or 16 if those are too large for a page (and draws it when there is but one). Words
    that a lane uses, whole or in part, carry its number; the rest of their 32-byte sectors is asked
    for too. When stepping, sectors that an access before has asked for are told apart.
    cycles: of one load, in which cycle the data stage takes each word and the tag stage finds each
    line, if L1 has them. Raises ValueError if there is no such access.
    """
    every = lanes.accesses(lanes.of_block(trace), array, kind, warp)
    numbers = lanes.chosen(index, len(every))
    if len(numbers) == 1:
        return _single(every[numbers[0]], warp, cycles)
    try:
        return _several(every, numbers, warp)
    except TooLarge:  # lanes at random, or nearly so
        if index is not None:
            raise
        return _several(every, numbers[: len(numbers) // 2], warp)


def _single(access: WarpAccess, warp: int, cycles: bool) -> Figure:
    """The picture of one access."""
    asked = _asked(access)
    used = int(np.unique(access.address[access.active]).size) * access.width
    unit, size = ("word", WORD) if access.width >= WORD else ("byte", 1)
    words = (
        f"Warp {warp}, line {access.line}: its {int(access.active.sum())} lanes "
        f"{access.kind} {lanes.count(used // size, unit)} of {access.array} in {asked}; "
        f"{analysis.SECTOR_BYTES * len(asked.sectors)} bytes asked for, {used} used"
    )
    served = l1_cycles(access.address, access.width, access.active) if cycles else None
    if served:
        data, tags = (lanes.count(stage.max(), "cycle") for stage in served)
        words += f". Tag stage: {tags}, a line's beside it. Data stage: {data}, a word's in it"
    drawing = _draw(asked, asked.lines, _names([asked]), served=served)
    return Figure(drawing, f"Coalescing. {words}.", f"{words}.")


def _several(accesses: Sequence[WarpAccess], numbers: Sequence[int], warp: int) -> Stepper:
    """The picture that steps through those of these numbers."""
    every = [_asked(accesses[n]) for n in numbers]
    kind, array = accesses[0].kind, accesses[0].array
    union = sorted({line for asked in every for line in asked.lines})
    names = _names(every)
    height = max(len(asked.lines) for asked in every)
    frames, labels = [], []
    before: set[int] = set()
    each: list[int] = []
    for number, asked in zip(numbers, every):
        rows = [*asked.lines, *[None] * (height - len(asked.lines))]
        frames.append(_draw(asked, union if len(union) <= MOST_ROWS else rows, names, before))
        new = len(asked.sectors - before)
        before |= asked.sectors
        each.append(len(asked.sectors))
        labels.append(
            f"{kind} {number}: {lanes.count(each[-1], 'sector')}, {new or 'none'} new; "
            f"so far {sum(each)} asked for, {len(before)} different"
        )
    span = " to ".join(map(str, sorted({min(each), max(each)})))
    words = (
        f"Warp {warp}, {lanes.part(len(numbers), len(accesses))} {kind}s of {array}, one at a "
        f"time: {sum(each)} sectors asked for, {len(before)} different, {span} by each {kind}."
    )
    green = "What is green and narrow was asked for before, and costs less if a cache still has it."
    alt = f"Coalescing, step by step. {words}"
    return stepper(frames, labels, alt, f"{words} {green}", f"{kind}s of {array}")


def frames(accesses: Sequence[WarpAccess]) -> list[tuple[str, str]]:
    """Of each access a drawing, as high as it needs, all of like elements, for a Stepper, and how
    many sectors and lines it asks for."""
    every = list(map(_asked, accesses))
    most = max(len(asked.lines) for asked in every)
    return [(_draw(a, a.lines, _names([a]), most=most), str(a)) for a in every]


def _names(every: Sequence[_Asked]) -> dict[int, str]:
    """Of each line, the element with the lowest address that an access uses."""
    used = [(word, n, users[0]) for n, a in enumerate(every) for word, users in a.users.items()]
    used.sort(reverse=True)  # the last of a line is the lowest
    return {word // WORDS: lanes.element(every[n].access, lane) for word, n, lane in used}


def _draw(
    asked: _Asked,
    rows: Sequence[int | None],
    names: Mapping[int, str],
    before: set[int] | None = None,
    most: int = 0,
    served: tuple[np.ndarray, np.ndarray] | None = None,
) -> str:
    """One frame; rows: the lines to draw, None for an empty place at the end; most: how many rows
    the highest frame has; served: the cycles to show, as `l1_cycles` has them."""
    at = {line: TOP + CELL * n for n, line in enumerate(rows) if line is not None}
    wide = lanes.words(asked.access)

    def x(word: int) -> int:
        return LEFT + CELL * (word % WORDS) + GAP * (word % WORDS // SECTOR)

    def label(users: list[int]) -> str:
        return str(served[0][users[0]]) if served else lanes.label(users, wide)

    heads = [
        svg.text(x(SECTOR * n) + 4 * CELL, TOP - 10, f"sector {n}", "middle")
        for n in range(WORDS // SECTOR)
    ]
    elements = [*rows, *[None] * (most - len(rows))]
    size = 12 if max(map(len, names.values())) <= 11 else 11  # that the names fit
    labels = ["" if line is None else names.get(line, "") for line in elements]
    corners = [(x(SECTOR * n), TOP + CELL * row) for row in range(len(rows)) for n in range(4)]
    tints = []
    for row, line in enumerate(elements):
        for n in range(4):
            sector = None if line is None else 4 * line + n
            look: dict[str, object] = {"stroke": NEW + ALPHA if sector in asked.sectors else "none"}
            if before and sector in before:
                look = {"stroke": BEFORE, "stroke_width": NARROW}
            tints.append(lanes.squares([(x(SECTOR * n), TOP + CELL * row)], SECTOR, **look))
    marks = [
        lanes.Mark(x(word), at[word // WORDS], wide, label(users), USED)
        for word, users in sorted(asked.users.items(), key=lambda item: item[1])
    ]
    bottom = TOP + CELL * len(rows)
    part = "" if asked.access.width >= WORD else ", all or in part"
    alone, number = before is None, "cycle" if served else "lane (* several)"
    legend: list[tuple[str, dict[str, object]]] = [
        (f"used{part}, with its {number}", {"fill": USED}),
        ("asked for, not used" if alone else "asked for too", {"fill": NEW, "fill_opacity": TINT}),
        ("asked for before", {"fill": BEFORE, "clip_path": "inset(4px 0)"}),
        ("not touched", {"fill": "currentColor", "fill_opacity": FAINT["stroke_opacity"]}),
    ]
    right = x(WORDS - 1) + CELL + 8
    if served:
        found = {word // WORDS: served[1][users[0]] for word, users in asked.users.items()}
        heads.append(svg.text(right := right + 32, TOP - 10, "tags", "end"))
        heads += lanes.row_names([found[line] for line in asked.lines], right, TOP)
    return svg.document(
        right,
        bottom + 34,
        *heads,
        *lanes.row_names(labels, LEFT, TOP, font_size=size),
        lanes.squares(corners, SECTOR, **lanes.SQUARES, **FAINT),
        svg.tag("g", *tints, **lanes.SQUARES),
        lanes.marks(marks, USED),
        svg.legend(LEFT, bottom + 26, legend if before is not None else [*legend[:2], legend[3]]),
    )
