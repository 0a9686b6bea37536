"""The stages of a pipeline over time: what is under way, what is full, and who reads it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any

from ..trace import Pipeline
from . import lanes, moments, svg
from .figure import PALETTE
from .moments import EMPTY, FULL, READ, READS, UNDER_WAY, Moment, StageState
from .stepper import Stepper, stepper

LEFT, WIDE, TOP = 100, 252, 22
LARGEST = 16  # pixels of a moment
BAR, WAVE, ROW, GAP = 16, 14, 16, 10
STRONG = 0.5  # opacity, on which numbers can be read
COLOURS = dict(zip((UNDER_WAY, FULL, READ), ("blue", "green", "vermilion")))
LOOKS = {what: {"fill": PALETTE[own], "fill_opacity": STRONG} for what, own in COLOURS.items()}
# What is done, and the state that it makes.
DEEDS = {"issue": UNDER_WAY, "store": FULL, "land": FULL} | dict.fromkeys(READS, READ)
_States = Sequence[Sequence[StageState]]  # of each stage, after each moment
STORY = {
    "issue": "{who} issue{s} copies into stage {stage}",
    "store": "{who} store{s} into stage {stage}",
    "land": "copies into stage {stage} land",
    "read": "{who} read{s} stage {stage}",
    "begin": "{engine} of {who} begins to read stage {stage}",
    "end": "{engine} of {who} has read stage {stage}",
    "full": "the full barrier of stage {stage} ends a phase",
    "empty": "the empty barrier of stage {stage} ends a phase",
}


def pipeline(recorded: Pipeline, stages: Any = None, index: Any = None) -> Stepper:
    """Who fills and who reads the stages of a pipeline, moment by moment.

    recorded: what `Kernel.pipeline` or `Step.pipeline` gives. stages: how many equal parts the
    arrays in shared memory that are filled have, None for the first extent of the arrays in the
    source, or for each stage its stretches of (start, bytes). index: which moments, a range; None
    for the first 32. A row is a stage, and below it the parity of the current phase of its
    mbarriers, if it has any: full, which copies into the stage report to, and empty, which those
    who fill it wait for. Below are those who do something, with the number of the stage. Raises
    ValueError where the stages cannot be told, and if nothing happens to them.
    """
    parts = moments.parts_of(recorded, stages)
    made = moments.moments_of(recorded, parts)
    if not made:
        raise ValueError("nobody fills or reads these stages")
    count = 1 + max(part.stage for part in parts)
    every = [moments.states_of(made, stage) for stage in range(count)]
    numbers = lanes.chosen(index, len(made))
    shown = [made[n] for n in numbers]
    states = [[own[n] for n in numbers] for own in every]
    ground, bottom = _ground(shown, states)
    frames = [_draw(shown, states, n, ground, bottom) for n in range(len(shown))]
    labels = [f"{k + 1} of {len(made)}: {_story(made[k])}" for k in numbers]
    some = f", of which {len(shown)} are shown" if len(shown) < len(made) else ""
    told = stages is None or isinstance(stages, int)  # as parts of arrays
    where = " and ".join(moments.filled(recorded)) if told else "shared memory"
    words = (
        f"Block {recorded.block}: {count} stages of {where}, "
        f"{lanes.count(len(made), 'moment')}{some}, in the order in which the interpreter runs the "
        "block; the width of a moment is not a time."
    )
    if any(moment.what == "land" for moment in made):
        words += " A copy lands when somebody waits for it, as late as the kernel allows."
    if any(moment.after_barrier for moment in made):
        words += " Dashed is where the threads of the block wait for one another."
    if any(moment.parity for moment in made):
        words += (
            " A line below a stage is high while the parity of an mbarrier's phase is 1: full, to "
            "which its copies report, and empty, for which those who fill it wait."
        )
    return stepper(frames, labels, f"Pipeline, step by step. {words}", words, "moments")


def _called(warps: Collection[int]) -> str:
    """ "warp 3", "warps 0–3", "warps 0, 2"."""
    numbers = sorted(warps)
    if len(numbers) < 2:
        return f"warp {numbers[0]}" if numbers else "nobody"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"warps {numbers[0]}–{numbers[-1]}"
    return f"warps {', '.join(map(str, numbers))}"


def _story(moment: Moment) -> str:
    """What happens, in a sentence."""
    words = STORY[moment.what].format(
        who=_called(moment.warps),
        s="s" * (len(moment.warps) == 1),
        stage=" and ".join(map(str, moment.stages)),
        engine=_engine(moment),
    )
    return f"{words}, line {moment.line}" if moment.line else words


def _engine(moment: Moment) -> str:
    """What reads on its own."""
    return "a copy" if moment.opcode == "cp" else moment.opcode


def _doers(own: Sequence[Moment]) -> str:
    """ "warps 0–3 read", "wgmma begins": the label of a row, of those who do one thing."""
    what, warps = own[0].what, set().union(*(moment.warps for moment in own))
    if what == "land":
        return "copies land"
    if what in ("begin", "end"):
        return f"{' and '.join(sorted({_engine(moment) for moment in own}))} {what}s"
    return f"{_called(warps)} {what}{'s' * (len(warps) == 1)}"


def _across(count: int) -> float:
    """Pixels of a moment."""
    return min(LARGEST, WIDE / count)


def _rows(parity: Collection[tuple[str, int]], stages: int) -> list[tuple[float, int, str]]:
    """Where each stage begins and, with their names, its mbarriers; and where all of them end."""
    y, rows = float(TOP), []
    for stage in range(stages):
        rows.append((y, stage, ""))
        y += BAR
        for kind in "full", "empty":
            if (kind, stage) in parity:
                rows.append((y, stage, kind))
                y += WAVE
        y += GAP / 2
    return [*rows, (y + GAP, stages, "")]


def _ground(shown: Sequence[Moment], states: _States) -> tuple[list[str], float]:
    """What all frames have, and where it ends."""
    cell, parts = _across(len(shown)), []
    *rows, (y, *_) = _rows(shown[0].parity, len(states))
    for top, stage, kind in rows:
        if kind:
            parts.append(_wave([m.parity[kind, stage] for m in shown], cell, top))
        else:
            parts.append(svg.text(LEFT - 8, top + 12, f"stage {stage}", "end"))
            parts += _bar(states[stage], cell, top)
    for what in DEEDS:
        if doing := [moment for moment in shown if moment.what == what]:
            parts.append(svg.text(LEFT - 8, y + 12, _doers(doing), "end", font_size=11))
            parts += _doings(shown, what, cell, y)
            y += ROW
    lines = "".join(
        f"M{svg.short(LEFT + cell * n)} {TOP - 4}V{svg.short(y)}"
        for n, moment in enumerate(shown)
        if moment.after_barrier
    )
    if lines:
        look = {"stroke": "currentColor", "stroke_opacity": 0.6, "stroke_dasharray": "3 3"}
        parts.append(svg.path(lines, **look, fill="none"))
    return parts, y


def _bar(own: Sequence[StageState], cell: float, y: float) -> list[str]:
    """A stage over all moments, in the colours of its states."""
    faint = {"fill": "currentColor", "fill_opacity": 0.05, "stroke": "currentColor"}
    parts = [svg.rect(LEFT, y, cell * len(own), BAR - 2, **faint, stroke_opacity=0.35)]
    at = 0
    for (what, _), run in itertools.groupby(own, lambda state: (state.what, state.filling)):
        length = len(list(run))
        if what != EMPTY:
            parts.append(svg.rect(LEFT + cell * at, y, cell * length, BAR - 2, **LOOKS[what]))
        at += length
    return parts


def _wave(parity: Sequence[int], cell: float, y: float) -> str:
    """A line that is low or high in each moment."""
    heights = [y + (2 if high else WAVE - 5) for high in parity]
    steps = "".join(
        f"{'V' if n else f'M{LEFT} '}{svg.short(at)}H{svg.short(LEFT + cell * (n + 1))}"
        for n, at in enumerate(heights)
    )
    return svg.outline(steps, stroke_opacity=0.8)


def _doings(shown: Sequence[Moment], what: str, cell: float, y: float) -> list[str]:
    """A box with the number of the stage for each moment in which it is done."""
    parts = []
    for n, moment in enumerate(shown):
        if moment.what == what:
            x = LEFT + cell * n
            parts.append(svg.rect(x, y, cell, ROW - 2, **LOOKS[DEEDS[what]]))
            if len(moment.stages) == 1:
                number = x + cell / 2, y + 11, moment.stages[0]
                parts.append(svg.text(*number, font_size=10, text_anchor="middle"))
    return parts


def _draw(
    shown: Sequence[Moment], states: _States, now: int, ground: list[str], bottom: float
) -> str:
    """One frame: the moment that it is about is framed, and below stands what the stages hold."""
    parity, cell = shown[now].parity, _across(len(shown))
    words = [
        svg.text(LEFT - 8, y + 9, f"{kind}: {parity[kind, stage]}", "end", font_size=11)
        for y, stage, kind in _rows(parity, len(states))
        if kind
    ]
    place = LEFT + cell * now, TOP - 4, cell, bottom - TOP + 6
    told = [
        svg.text(4, bottom + 24 + 17 * stage, f"stage {stage}: {_holds(own[now])}")
        for stage, own in enumerate(states)
    ]
    end = bottom + 24 + 17 * len(states)
    used = {state.what for own in states for state in own}
    return svg.narrow(
        end + 24,
        *ground,
        *words,
        svg.rect(*place, **svg.OUTLINE, stroke_width=1.5),
        *told,
        svg.legend(4, end + 12, [(what, look) for what, look in LOOKS.items() if what in used]),
    )


def _holds(state: StageState) -> str:
    """What a stage holds, in words."""
    if state.what == EMPTY:
        return "free again" if state.filling else "nothing yet"
    words = f"filling {state.filling} is {'there' if state.what == FULL else state.what}"
    return words + (f" by {_called(state.warps)}" if state.warps else "")
