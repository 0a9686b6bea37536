"""Loads, barriers and multiply-adds over time: what the warps of a quarter of an SM do when."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from anywarp.analysis import LANES, SCHEDULERS
from anywarp.draw import PALETTE, Figure, lanes, svg
from anywarp.sass import tile_loop

from ...analysis.issue import BARRIER, LOAD, STORE, Warp, issue
from ...ladder.step import Step, step as step_of
from ...records import RECORDED_ON, Results, results as recorded
from ..records.plots import label_of

LATENCY = 500  # cycles of a global load
SIZE = 4096  # of the records that stand beside the model
PASSES, FIRST = 10, 2  # that are run, and the one with which the picture begins
LEFT, WIDE = 58, 298
ROW, BAR = 13, 10
NEAR = 8  # cycles between instructions that are drawn as one run
FMA = "fma"
KINDS = {LOAD: LOAD, STORE: STORE, BARRIER: BARRIER, FMA: FMA, "shared load": FMA}
COLOURS = {FMA: PALETTE["green"], LOAD: PALETTE["blue"], STORE: PALETTE["vermilion"]}


class _Panel(NamedTuple):
    """The picture of a step with so many blocks on the SM."""

    step: Step
    blocks: int
    warps: tuple[Warp, ...]
    loop: tuple[str, ...]
    cycles: float  # of the SM for each tile, in the model
    measured: float | None  # the same in the records
    start: int  # cycle with which the picture begins

    @property
    def span(self) -> int:
        """Cycles that the first warp takes for two passes."""
        return self.warps[0].cycles[(FIRST + 2) * len(self.loop)] - self.start


def timeline(*steps: Any, blocks: Sequence[int] | None = None) -> Figure:
    """What the warps of a quarter of an SM issue over time, a picture for each step.

    steps: with shared memory and barriers, as `kernels.step` takes them; blocks: on the SM at a
    time, a picture for each number, None for as many as fit. Computed are the instructions of a
    pass through the loop over tiles and their order, which are those of the machine code for
    compute capability 9.0, the warps of a block and the blocks that fit. Assumed is how warps take
    turns and what they wait for: `analysis.issue` says it, with LATENCY cycles from a global
    load until its value can be stored. The caption has the cycles a tile in this model beside
    those recorded on an H200 at 4096, so that one sees what the model leaves out. Raises ValueError
    for a step without such a loop.
    """
    panels = [
        _panel(step, number, recorded(RECORDED_ON))
        for step in map(step_of, steps)
        for number in (blocks or [step.occupancy().blocks])
    ]
    if not panels:
        raise ValueError("timeline needs a step")
    span = max(panel.span for panel in panels)
    parts, y = [], 14.0
    for panel in panels:
        drawn, y = _draw(panel, y, span)
        parts += drawn
    parts += [
        svg.text(LEFT, y, "0"),
        svg.text(LEFT + WIDE, y, f"{span} cycles", "end"),
        *_legend(y + 22),
    ]
    words = "; ".join(map(_words, panels))
    return Figure(
        svg.narrow(y + 62, *parts),
        f"Timeline of a quarter of an SM. {words}.",
        f"A row is a warp of one quarter of an SM. Instructions and their order are those of the "
        f"machine code; a model lets them wait, for loads {LATENCY} cycles and at barriers, and "
        "for nothing else. Idle is when none of them issues. Cycles of the SM for a tile: "
        f"{words}.",
    )


def _panel(step: Step, blocks: int, results: Results) -> _Panel:
    """A step's warps in the model, and its cycles for a tile there and in the records."""
    sizes = step.defines
    BM, BN, BK = sizes["BM"], sizes["BN"], sizes.get("BK", sizes["BN"])
    threads = math.prod(step.block)
    loop = tile_loop(step, BM * BN * BK // threads)
    each = -(-threads // LANES // SCHEDULERS)
    warps = issue(loop, each, blocks, LATENCY, PASSES)
    first = warps[0].cycles
    start, end = first[FIRST * len(loop)], first[(PASSES - 2) * len(loop)]
    cycles = (end - start) / (PASSES - 2 - FIRST) / blocks
    measured, record = None, results.find(step, SIZE)
    if record and record.sm_clock_mhz and blocks == step.occupancy().blocks:
        tiles = (SIZE // BM) * (SIZE // BN) * -(-SIZE // BK) / results.provenance["multiprocessors"]
        measured = record.ms * 1e3 * record.sm_clock_mhz / tiles
    return _Panel(step, blocks, warps, loop, cycles, measured, start)


def _words(panel: _Panel) -> str:
    """A panel's cycles for a tile, in words."""
    words = f"{label_of(panel.step.label)}, {lanes.count(panel.blocks, 'block')}: "
    words += f"{panel.cycles:.0f} in the model"
    return words + (f", {panel.measured:.0f} recorded" if panel.measured else "")


def _draw(panel: _Panel, y: float, span: int) -> tuple[list[str], float]:
    """A row for each warp below the panel's title, and where the next panel begins."""
    scale = WIDE / span

    def ends(*cycles: float) -> Iterator[float]:
        """Where they are in the picture, or its nearest end."""
        return (LEFT + scale * min(max(c - panel.start, 0), span) for c in cycles)

    def bar(first: float, end: float, top: float, **look: Any) -> str:
        """Of cycles, as far as they are in the picture."""
        x, right = ends(first, end)
        return svg.rect(x, top, right - x, BAR, **look) if right > x else ""

    name, _, defines = panel.step.label.partition(" ")
    title = f"{label_of(name)}: {lanes.count(panel.blocks, 'block')} on the SM"
    parts = [svg.text(0, y, title, font_weight="bold")]
    if defines:
        y += 16
        parts.append(svg.text(0, y, defines))
    y += 10
    for n, warp in enumerate(panel.warps):
        if n == 0 or panel.warps[n - 1].block != warp.block:
            y += 4 if n else 0
            parts.append(svg.text(LEFT - 6, y + 10, f"block {warp.block}", "end"))
        runs = sorted(_runs(warp, panel.loop), key=lambda run: run[0] != FMA)  # these below
        for kind, first, end in runs:
            if kind == BARRIER and 0 <= first - panel.start <= span:
                parts.append(_tick(LEFT + scale * (first - panel.start), y))
            elif kind != BARRIER:
                wide = max(end - first, 0 if kind == FMA else 3 / scale)  # or nobody would see it
                opacity = 0.5 if kind == FMA else None
                parts.append(bar(first, first + wide, y, fill=COLOURS[kind], fill_opacity=opacity))
        for first, end, reason in warp.waits:
            x, right = ends(first, end)
            if right > x:
                parts.append(_wait(x, right, y, reason))
        y += ROW
    parts.append(svg.text(LEFT - 6, y + 13, "idle", "end"))
    busy = sorted(cycle for warp in panel.warps for cycle in warp.cycles)
    parts += [
        bar(before + 1, cycle, y + 4, fill="currentColor")
        for before, cycle in itertools.pairwise(busy)
        if cycle > before + 1
    ]
    return [part for part in parts if part], y + 40


def _runs(warp: Warp, loop: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """(kind, first cycle, end) of what a warp issues; other instructions belong to those before
    them."""
    run: tuple[str, int, int] | None = None
    for cycle, name in zip(warp.cycles, itertools.cycle(loop)):
        kind = KINDS.get(name, run[0] if run and run[0] != BARRIER else FMA)
        first = cycle
        if run and run[0] == kind and cycle - run[2] <= NEAR and kind != BARRIER:
            first = run[1]
        elif run:
            yield run
        run = (kind, first, cycle + 1)
    if run:
        yield run


def _tick(x: float, y: float) -> str:
    """A barrier."""
    d = f"M{svg.short(x)} {svg.short(y - 1)}v{BAR + 2}"
    return svg.tag("path", d=d, stroke="currentColor", stroke_width=1.6)


def _wait(x: float, right: float, y: float, reason: str) -> str:
    """The line for a wait, dashed where it is for a load."""
    line = f"M{svg.short(x)} {svg.short(y + BAR / 2)}H{svg.short(right)}"
    dashes = "2 3" if reason == LOAD else None
    return svg.path(line, stroke="currentColor", stroke_dasharray=dashes)


def _legend(y: float) -> list[str]:
    """The legend below the pictures: colours, and lines of waits."""
    x, other = LEFT, LEFT + 150
    fill = {"fill": COLOURS[FMA], "fill_opacity": 0.5}
    return [
        svg.legend(x, y, [("FMAs, shared loads", fill)]),
        _tick(other + 6, y - 9),
        svg.text(other + 18, y, "barrier"),
        svg.legend(x, y + 18, [("global load", {"fill": COLOURS[LOAD]})]),
        svg.legend(other, y + 18, [("shared store", {"fill": COLOURS[STORE]})]),
        _wait(x, x + 13, y + 27, LOAD),
        svg.text(x + 18, y + 36, "waits for a load"),
        _wait(other, other + 13, y + 27, BARRIER),
        svg.text(other + 18, y + 36, "waits at a barrier"),
    ]
