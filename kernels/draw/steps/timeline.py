"""Loads, barriers and multiply-adds over time: what the warps of a quarter of an SM do when."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from anywarp.analysis import LANES, SCHEDULERS
from anywarp.draw import PALETTE, Figure, lanes, svg
from anywarp.sass import decode, tile_words
from anywarp.trace import metrics

from ...analysis import sm_limits
from ...analysis.hierarchy import SMS
from ...analysis.issue import BARRIER, LATER, LOAD, SHARED, SHARED_LOAD, STORE, Pipe, Warp, issue
from ...ladder.step import Step, step as step_of
from ...records import RECORDED_ON, results as recorded, stalls
from ..records.plots import label_of

LATENCY = 690  # cycles of a load from device memory, by the H200's latency.json
DEEP = 256  # of K, of which a block's accesses are counted
LONE = 512, 1024  # M = N = K of the records of lone blocks
PASSES, FIRST = 10, 2  # that are run, and the one with which the picture begins
LEFT, WIDE = 58, 298
ROW, BAR = 13, 10
NEAR = 8  # cycles between instructions that are drawn as one run, or pixel if that is more
FMA = "FFMA"
KINDS = {LOAD: LOAD, STORE: STORE, BARRIER: BARRIER, FMA: FMA, SHARED_LOAD: FMA}
LINES: dict[str, dict[str, Any]] = {LOAD: {"stroke_dasharray": "2 3"}, BARRIER: {}}  # of waits
COLOURS = {FMA: PALETTE["green"], LOAD: PALETTE["blue"], STORE: PALETTE["vermilion"]}


class _Panel(NamedTuple):
    """The picture of a step with so many blocks on the SM."""

    step: Step
    blocks: int
    warps: tuple[Warp, ...]
    loop: list[str]
    words: str  # cycles of the SM for each tile, in the model and in the records
    start: int  # cycle with which the picture begins
    span: int  # cycles that the first warp takes for two passes


def timeline(*steps: Any, blocks: Sequence[int] | None = None, latency: int = LATENCY) -> Figure:
    """What the warps of a quarter of an SM issue over time, a picture for each step.

    steps: with shared memory and barriers, as `kernels.step` takes them; blocks: on the SM at a
    time, a picture for each number, None for as many as fit. Computed are the instructions of a
    pass through the loop over tiles and their order, which are those of the machine code for
    compute capability 9.0, the warps of a block, the blocks that fit, and the wavefronts of an
    access. How warps take turns and what they wait for is a model's, `analysis.issue`, with latency
    cycles from a global load until its value is there. The caption has the cycles a tile in this
    model beside those recorded on an H200: counted while an SM had warps (`kernels.stalls`), or, of
    one block where more fit, the price of a tile in LONE products that leave every block alone.
    Raises ValueError for a step without such a loop.
    """
    panels = [
        _panel(step, number, latency)
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
    parts += [svg.text(LEFT, y, "0"), svg.text(LEFT + WIDE, y, f"{span} cycles", "end")]
    parts += _legend(y + 22)
    words = "; ".join(panel.words for panel in panels)
    return Figure(
        svg.narrow(y + 80, *parts),
        f"Timeline of a quarter of an SM. {words}.",
        "A row is a warp of one quarter of an SM. Instructions and what each waits for are those "
        f"of the machine code; each load is taken to need {latency} cycles, though L2 has many. A "
        "scheduler, measured on an H100, stays with a warp until that one has to wait and takes "
        "the first that can go on; one that waited for a result comes last until "
        f"{LATER} cycles after it last issued. Idle is "
        f"when none issues, short pauses left out. Cycles of the SM for a tile: {words}.",
    )


def _panel(step: Step, blocks: int, latency: int) -> _Panel:
    """A step's warps in the model, and its cycles for a tile there and in the records."""
    BM, BN, BK = (step.defines.get(name, step.defines["BN"]) for name in ("BM", "BN", "BK"))
    threads = math.prod(step.block)
    loop = [decode(word) for word in tile_words(step, BM * BN * BK // threads)]
    each = -(-threads // LANES // SCHEDULERS)
    pipe = _pipe(step.trace(BM, BN, -(-DEEP // BK) * BK).counters, latency)
    warps = issue(loop, pipe, each, blocks, PASSES)
    start, after = (warps[0].cycles[n * len(loop)] for n in (FIRST, FIRST + 2))
    end = min(warp.cycles[-1] for warp in warps)  # up to here, all blocks are at it
    done = sum(start <= cycle <= end for warp in warps for cycle in warp.cycles)
    cycles = (end + 1 - start) * each * len(loop) / done
    words = f"{label_of(step.label)}, {lanes.count(blocks, 'block')}: {cycles:.0f} in the model"
    if measured := _recorded(step, blocks, BM * BN * BK):
        words += f", {measured:.0f} recorded ({round(100 * (cycles / measured - 1)):+d} %)"
    return _Panel(step, blocks, warps, [i.name for i in loop], words, start, after - start)


def _recorded(step: Step, blocks: int, fmas: int) -> float | None:
    """Cycles of an SM for a tile of so many multiply-adds, as recorded on an H200; None if not."""
    results = recorded(RECORDED_ON)
    if blocks == step.occupancy().blocks:  # while the SM has warps: a last wave is not full
        counted = stalls(RECORDED_ON)["steps"].get(step.label)
        return sm_limits.cycles(counted) * fmas / LANES if counted else None
    BM, BN, BK = (step.defines[name] for name in ("BM", "BN", "BK"))
    records = [results.find(step, n) for n in LONE]
    if blocks != 1 or LONE[1] ** 2 > BM * BN * SMS or not all(records):
        return None
    few, more = (1e3 * r.ms * (r.sm_clock_mhz or math.nan) for r in records if r)
    return (more - few) / ((LONE[1] - LONE[0]) / BK)


def _pipe(count: Mapping[str, int], latency: int) -> Pipe:
    """The wavefronts of an instruction and of its like in the other quarters."""
    kinds = {SHARED_LOAD: "ld", STORE: "st"}
    waves = {name: count[metrics.WAVEFRONTS.format(kind)] for name, kind in kinds.items()}
    asked = {name: count[metrics.SHARED_INSTRUCTIONS.format(kind)] for name, kind in kinds.items()}
    waves[LOAD] = count[metrics.PIPE] - sum(waves.values())  # and the few stores of C
    asked[LOAD] = sum(count[metrics.REQUESTS.format(kind)] for kind in kinds.values())
    after = {LOAD: latency, SHARED_LOAD: SHARED, STORE: 0}
    return {name: (SCHEDULERS * n / max(1, asked[name]), after[name]) for name, n in waves.items()}


def _draw(panel: _Panel, y: float, span: int) -> tuple[list[str], float]:
    """A row for each warp below the panel's title, and where the next panel begins."""
    scale, near = WIDE / span, max(NEAR, span / WIDE)

    def bars(spans: Iterable[tuple[int, float, str]], top: float, wide: float, **look: Any) -> str:
        """Of cycles, as far as they are in the picture."""
        line = ""
        for *cycles, _ in spans:
            x, right = (LEFT + scale * min(max(c - panel.start, 0), span) for c in cycles)
            if right > x:
                line += f"M{svg.short(x)} {svg.short(top + BAR / 2)}h{svg.short(right - x)}"
        return svg.path(line, stroke_width=wide, **{"stroke": "currentColor"} | look)

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
        runs = _runs(warp, panel.loop, near)
        for kind, colour in COLOURS.items():
            # so wide that one sees it
            least, opacity = (0, 0.5) if kind == FMA else (3 / scale, None)
            spans = [(first, max(end, first + least), k) for first, end, k in runs if k == kind]
            parts.append(bars(spans, y, BAR, stroke=colour, stroke_opacity=opacity))
        for first, _, kind in runs:
            if kind == BARRIER and 0 <= first - panel.start <= span:
                parts.append(_tick(LEFT + scale * (first - panel.start), y))
        for kind, look in LINES.items():
            parts.append(bars([wait for wait in warp.waits if wait[2] == kind], y, 1, **look))
        y += ROW
    parts.append(svg.text(LEFT - 6, y + 13, "idle", "end"))
    busy = sorted(cycle for warp in panel.warps for cycle in warp.cycles)
    idle = ((a + 1, b, "") for a, b in itertools.pairwise(busy) if b - a > near)
    return [*parts, bars(idle, y + 4, BAR)], y + 40


def _runs(warp: Warp, loop: Sequence[str], near: float) -> list[tuple[int, int, str]]:
    """(first cycle, end, kind) of what a warp issues; other instructions belong to those before
    them."""
    runs: list[tuple[int, int, str]] = []
    for cycle, name in zip(warp.cycles, itertools.cycle(loop)):
        first, end, before = runs[-1] if runs else (cycle, cycle, FMA)
        kind = KINDS.get(name, FMA if before == BARRIER else before)
        if runs and kind == before != BARRIER and cycle - end <= near:
            runs[-1] = first, cycle + 1, kind
        else:
            runs.append((cycle, cycle + 1, kind))
    return runs


def _tick(x: float, y: float) -> str:
    """A barrier."""
    d = f"M{svg.short(x)} {svg.short(y - 1)}v{BAR + 2}"
    return svg.tag("path", d=d, stroke="currentColor", stroke_width=1.6)


def _legend(y: float) -> list[str]:
    """The legend below the pictures: colours, and lines of waits."""
    x, other = LEFT, LEFT + 150
    return [
        svg.legend(x, y, [("FMAs, shared loads", {"fill": COLOURS[FMA], "fill_opacity": 0.5})]),
        _tick(other + 6, y - 9),
        svg.text(other + 18, y, "barrier"),
        svg.legend(x, y + 18, [("global load", {"fill": COLOURS[LOAD]})]),
        svg.legend(other, y + 18, [("shared store", {"fill": COLOURS[STORE]})]),
        svg.path(f"M{x} {y + 32}h13", stroke="currentColor", **LINES[LOAD]),
        svg.text(x + 18, y + 36, "waits for a load"),
        svg.path(f"M{other} {y + 32}h13", stroke="currentColor", **LINES[BARRIER]),
        svg.text(other + 18, y + 36, "waits at a barrier"),
        svg.legend(x, y + 54, [("not its turn, or waits on shared memory", svg.OUTLINE)]),
    ]
