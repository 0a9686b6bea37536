"""Which lane and which register hold which element of the matrices of an instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .. import analysis
from ..analysis.fragments import Fragment
from ..analysis.warps import LANES, Ints
from . import lanes, svg
from .figure import PALETTE
from .stepper import Stepper, stepper

COLOURS = [PALETTE[name] for name in ("blue", "vermilion", "green", "purple")]
EIGHT = LANES // len(COLOURS)  # lanes in one colour
PALE, STRONG = 0.13, 0.5  # opacity
LEGEND = [
    (f"{EIGHT * n}–{EIGHT * n + EIGHT - 1}", {"fill": colour, "fill_opacity": STRONG})
    for n, colour in enumerate(COLOURS)
]
MARGIN, GAP, TOP = 4, 26, 20
COLUMNS = 16  # of wgmma's product that are drawn
LARGEST, MIDDLE = 18, 13  # pixels of an element
LONGEST = 16  # along k, of what is drawn with its rows and columns in line
LETTER = 6.2
HELD = {"lane": "with the names of its registers", "register": "with the numbers of the lanes"}
_Box = tuple[float, float, float, float]  # left, top, width and height
_Shown = list[tuple[int, int, Ints]]  # panel, register and its lanes


class _Panel(NamedTuple):
    """A part of a matrix that is drawn, and what one warp holds of it."""

    name: str
    of: Fragment
    title: str
    corner: tuple[float, float]
    cell: float  # pixels of an element
    names: tuple[str, ...]  # of the registers


def fragment(instruction: str, by: str = "lane") -> Stepper:
    """The elements of an instruction's matrices, and the lanes and registers that hold them.

    instruction: with its modifiers, as `analysis.fragments` takes it: mma.sync, or
    wgmma.mma_async, of which it is the product. by: what it steps through, "lane" or "register".
    Of wgmma's warpgroup the first warp is shown, whose 16 rows and their first 16 columns are
    drawn. Raises ValueError for other instructions and arguments.
    """
    if by not in HELD:
        raise ValueError(f'by must be "lane" or "register", not {by!r}')
    matrices = analysis.fragments(instruction)
    if "D" not in matrices:
        raise ValueError(f"{instruction} has no product: name an mma or a wgmma")
    panels, height = _product(matrices)
    ground = _ground(panels)
    registers = [(n, r) for n, panel in enumerate(panels) for r in range(len(panel.names))]
    frames, labels = [], []
    for step in range(LANES) if by == "lane" else lanes.chosen(None, len(registers)):
        if by == "lane":
            shown = [(n, r, np.array([step])) for n, r in registers]
            labels.append(f"lane {step}: {_held(panels, step)}")
        else:
            shown = [(*registers[step], np.arange(LANES))]
            labels.append(_register(panels, *registers[step]))
        frames.append(_draw(panels, height, ground, shown, by))
    words = f"{_story(instruction, matrices)} Strong is what one {by} holds, {HELD[by]}."
    return stepper(frames, labels, f"Fragments, step by step. {words}", words, f"{by}s")


def _story(instruction: str, matrices: dict[str, Fragment]) -> str:
    """The instruction and its matrices, in words."""
    name = " ".join(word for word in instruction.split(".") if word not in ("sync", "aligned"))
    sizes = {name: f"{each.shape[0]} x {each.shape[1]}" for name, each in matrices.items()}
    if "A" not in matrices:
        return f"{name}: the product D, {sizes['D']}, in 128 threads. Warp 0 is shown."
    return f"{name}: A is {sizes['A']}, B {sizes['B']}, C and D are {sizes['D']} and lie alike."


def _product(matrices: dict[str, Fragment]) -> tuple[list[_Panel], float]:
    """A at the left, B above, D where their rows and columns meet, or, if they are long, beside B;
    or D alone, of which not all is drawn."""
    parts = {name: _part(of) for name, of in matrices.items()}
    rows, columns = (int(np.ptp(x)) + 1 for x in parts["D"][1:])
    depth = matrices["A"].shape[1] if "A" in matrices else 0
    gap, long = GAP if depth else 0, depth > LONGEST
    across = svg.NARROW - 2 * MARGIN
    cell = min(LARGEST, across / depth if long else (across - gap) / (depth + columns))
    sizes = {"A": cell, "B": MIDDLE if long else cell, "D": LARGEST if long else cell}
    left = MARGIN + (sizes["B"] * columns if long else cell * depth) + gap
    top = TOP + sizes["B"] * depth + gap
    corners = {
        "A": (MARGIN, top),
        "B": (MARGIN if long else left, TOP),
        "D": (left, TOP if long else top),
    }
    panels = []
    for name, of in parts.items():
        whole = matrices[name].shape
        title = f"{name}, {whole[0]} x {whole[1]}"
        if "A" not in matrices:
            title += f": rows 0 to {rows - 1}, columns 0 to {columns - 1}"
        names = tuple(f"{of.register}{n}" for n in range(len(of.row)))
        panels.append(_Panel(name, of, title, corners[name], sizes[name], names))
    return panels, top + cell * rows


def _part(of: Fragment) -> Fragment:
    """What the first warp holds of a matrix, and of wgmma's the registers that are drawn."""
    row, column = (x[:, :LANES] for x in of[1:])
    shown = column.max((1, 2)) < COLUMNS if of.row.shape[1] > LANES else np.ones(len(row), bool)
    return Fragment(of.register, row[shown], column[shown])


def _boxes(panel: _Panel, register: int, which: Iterable[int]) -> Iterator[_Box]:
    """Left, top, width and height of the elements that each of these lanes has in a register,
    which lie side by side or under one another."""
    for lane in which:
        row, column = panel.of.row[register, lane], panel.of.column[register, lane]
        cell = panel.cell
        x = panel.corner[0] + cell * column.min()
        y = panel.corner[1] + cell * row.min()
        wide, high = cell * (1 + np.ptp(column)), cell * (1 + np.ptp(row))
        yield float(x), float(y), float(wide), float(high)


def _ground(panels: list[_Panel]) -> list[str]:
    """All elements, pale, in the colours of their lanes, and the titles."""
    parts = []
    for panel in panels:
        for n, colour in enumerate(COLOURS):
            which = range(EIGHT * n, EIGHT * (n + 1))
            boxes = [b for r in range(len(panel.names)) for b in _boxes(panel, r, which)]
            look = {"fill": colour, "fill_opacity": PALE, "stroke": "currentColor"}
            parts.append(svg.path(svg.boxes(boxes), **look, stroke_opacity=0.3))
        x, y = panel.corner
        parts.append(svg.text(x, y - 6, panel.title, font_weight="bold"))
    return parts


def _draw(panels: list[_Panel], height: float, ground: list[str], shown: _Shown, by: str) -> str:
    """One frame; shown: what is strong."""
    strong: dict[str, list[_Box]] = {colour: [] for colour in COLOURS}
    names = []
    for n, register, which in shown:
        for lane, box in zip(which.tolist(), _boxes(panels[n], register, which)):
            strong[COLOURS[lane // EIGHT]].append(box)
            x, y, wide, high = box
            word = panels[n].names[register] if by == "lane" else str(lane)
            if LETTER * len(word) <= wide + 2:
                names.append((x + wide / 2, y + high / 2 + 4, word))
    look = {"fill_opacity": STRONG, "stroke": "currentColor"}
    paths = [
        svg.path(svg.boxes(boxes) or "M0 0", fill=colour, **look)
        for colour, boxes in strong.items()
    ]
    return svg.narrow(
        height + 32,
        *ground,
        *paths,
        svg.texts(names, font_size=10.5, text_anchor="middle"),
        svg.text(MARGIN, height + 22, "lanes"),
        svg.legend(MARGIN + 46, height + 22, LEGEND),
    )


def _held(panels: list[_Panel], lane: int) -> str:
    """ "A rows 1 and 9, columns 2, 3, 10 and 11; B …"."""
    return "; ".join(
        f"{panel.name} {_places(panel.of.row[:, lane], panel.of.column[:, lane])}"
        for panel in panels
    )


def _places(row: np.ndarray, column: np.ndarray) -> str:
    """Rows and columns in words: "rows 1 and 9, columns 2 and 3"."""
    return f"{_listed('row', row)}, {_listed('column', column)}"


def _listed(what: str, values: np.ndarray) -> str:
    """ "row 1", "rows 0 to 7", "rows 1, 3 and 5"."""
    numbers = np.unique(values).tolist()
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{what}s {numbers[0]} to {numbers[-1]}"
    return f"{what}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _register(panels: list[_Panel], n: int, register: int) -> str:
    """ "a1: rows 8 to 15, columns 0 to 7 of A, 2 elements in a lane"."""
    panel = panels[n]
    row, column = panel.of.row[register], panel.of.column[register]
    each = lanes.count(row.shape[-1], "element")
    return f"{panel.names[register]}: {_places(row, column)} of {panel.name}, {each} in a lane"
