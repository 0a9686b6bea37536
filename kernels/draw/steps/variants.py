"""A step's variants, traced beforehand: controls that choose one need neither kernel nor network.

The picture is a Stepper through the accesses of all variants. The script in variants.js puts
controls in place of its slider, and the numbers of the chosen variant into a table. Where scripts
do not run, the variant that was given remains, its picture and its numbers.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from anywarp.draw import Stepper, bank_frames, lanes, scripted, sector_frames
from anywarp.trace import PIPE, WarpAccess
from anywarp.trace.metrics import CONFLICTS, KINDS

from ...records import SAME_SM, results
from ..records.plots import three_digits

Choices = Mapping[str, Iterable[Any]]  # by defines, what to try
SIZE = 4096  # of the record whose speed is told
LARGEST = 150_000  # bytes of HTML
SCRIPT = Path(__file__).with_suffix(".js")
CAPTION = (
    "An access of warp {warp} in variants of {step}, traced beforehand in a product of "
    "{shape}. Run in a notebook, this cell takes any values and any step."
)
ACCESS = "this access"
NOTHING = {"0%", "0 bytes a block"}  # a row that says nothing else is left out
NAME = "text-align:left;font-weight:400;padding:.1em 1em .1em 0"
NUMBER = "text-align:left;padding:.1em 0"


class Control(NamedTuple):
    """What is chosen: a name, and for each option its text and its defines."""

    name: str
    texts: tuple[str, ...]
    options: tuple[dict[str, int], ...]
    kind: str  # "range" or "select"


class Tried(NamedTuple):
    """What came of a variant: a trace and what is told of it, by its name in the table, or why the
    kernel refuses it."""

    trace: Any  # None of one that is refused
    numbers: dict[str, str]
    refused: str = ""


@dataclass(frozen=True, repr=False)
class Variants:
    """Pictures and numbers of a step's variants; notebooks show it as HTML.

    `tried` and `pictures` are in the order of itertools.product of the controls' options; `given`
    is the one that is shown at first. For each of the accesses a variant has the number of a frame
    of the stepper, or -1; `verdicts` says of each frame what the access costs.
    """

    label: str
    controls: tuple[Control, ...]
    start: tuple[int, ...]  # the options chosen at first
    given: Tried
    tried: tuple[Tried, ...]
    accesses: tuple[str, ...]
    pictures: tuple[tuple[int, ...], ...]
    verdicts: tuple[str, ...]
    stepper: Stepper
    caption: str

    def __repr__(self) -> str:
        refused = sum(bool(each.refused) for each in self.tried)
        return f"<Variants of {self.label}: {len(self.tried)}, {refused} of them refused>"

    def _repr_html_(self) -> str:
        used = [
            name for name in self.given.numbers
            if not {each.numbers[name] for each in self.tried if each.trace} <= NOTHING
        ]  # fmt: skip
        controls = [[c.name, c.texts, at, c.kind] for c, at in zip(self.controls, self.start)]
        tried = [each.refused or [each.numbers[name] for name in used] for each in self.tried]
        told = controls, tried, self.pictures, self.accesses, self.verdicts
        rows = [(ACCESS, self.verdicts[0]), *((name, self.given.numbers[name]) for name in used)]
        body = "".join(
            f'<tr><th scope="row" style="{NAME}">{html.escape(name)}</th>'
            f'<td style="{NUMBER}">{html.escape(number)}</td></tr>'
            for name, number in rows
        )
        table = f'<table style="margin:0;font-size:.9em">{body}</table>'
        inside = table + self.stepper._repr_html_()
        return scripted(SCRIPT, self.stepper.frames[0], told, inside, self.caption)


def variants(
    step: Any,
    shape: Sequence[int],
    array: str,
    kind: str,
    warp: int,
    choices: Choices,
    numbers: Sequence[int] = (0,),
) -> Variants:
    """Trace a step with all combinations of the choices, of which its own defines are one.

    choices: {"PAD": range(4), "BM BN": [64, 128], "WM WN": [(32, 64), (64, 32)]}: a value is for
    all defines of its name, or has one for each. array, kind: the access that is shown first; the
    others of the same memory can be chosen. A combination that the kernel refuses is kept, with the
    reason. Raises ValueError for an unknown define, where the step's own values are no choice, and
    for more than LARGEST bytes.
    """
    controls = tuple(control(name, values) for name, values in choices.items())
    start = tuple(_start(step, choice) for choice in controls)
    combined = list(itertools.product(*(choice.options for choice in controls)))
    tried = [
        _try(step.define(**{k: v for option in options for k, v in option.items()}), shape)
        for options in combined
    ]
    at = combined.index(tuple(choice.options[n] for choice, n in zip(controls, start)))
    if tried[at].refused:
        raise ValueError(tried[at].refused)
    space = tried[at].trace.find(array, kind, warp).space
    firsts = [_numbered(each.trace, space, warp, numbers) for each in tried]
    pairs = sorted(
        {pair for own in firsts for pair in own},
        key=lambda pair: (pair[:2] != (kind, array), pair[1], pair[0], numbers.index(pair[2])),
    )
    # The first frame is of the given variant: without scripts it remains.
    order = sorted(range(len(tried)), key=lambda n: n != at)
    shown = {(n, pair): firsts[n][pair] for n in order for pair in pairs if pair in firsts[n]}
    accesses = list(shown.values())
    if space == "shared":
        drawn, what = bank_frames(accesses), "bank in which wavefront"
    else:
        drawn, what = sector_frames(accesses), "sector of which cache line"
    rows = [
        (frame, f"{8 * a.width}-bit {a.kind}, first lane at {lanes.first_element(a)}: {cost}", cost)
        for a, (frame, cost) in zip(accesses, drawn)
    ]
    frames = {row: n for n, row in enumerate(dict.fromkeys(rows))}  # each is there once
    pictures = {place: frames[row] for place, row in zip(shown, rows)}
    drawings, titles, costs = zip(*frames)
    alt = f"Which lane of warp {warp} goes to which {what}, in variants of {step.id}."
    made = Variants(
        step.label,
        controls,
        start,
        tried[at],
        tuple(tried),
        tuple(
            f"{kind} {'from' if kind == 'load' else 'to'} {array}"
            + (f", number {number}" if len(numbers) > 1 else "")
            for kind, array, number in pairs
        ),
        tuple(tuple(pictures.get((n, pair), -1) for pair in pairs) for n in range(len(tried))),
        costs,
        Stepper(drawings, titles, alt, "", "variant"),
        CAPTION.format(warp=warp, step=step.id, shape=" × ".join(map(str, shape))),
    )
    if (size := len(made._repr_html_().encode())) > LARGEST:
        raise ValueError(f"{len(tried)} variants take {size} bytes, more than {LARGEST}: try fewer")
    return made


def control(name: str, values: Iterable[Any]) -> Control:
    """The control of a choice: see `variants`."""
    names, values = name.split(), list(values)
    same = not any(isinstance(value, Sequence) for value in values)
    rows = [[value] * len(names) if same else value for value in values]
    options = tuple(dict(zip(names, row, strict=True)) for row in rows)
    texts = tuple(", ".join(map(str, row[:1] if same else row)) for row in rows)
    kind = "range" if same and len(values) > 2 else "select"
    return Control((" = " if same else ", ").join(names), texts, options, kind)


def _start(step: Any, choice: Control) -> int:
    """The number of the control's option that the step has. Raises ValueError if it has none."""
    for number, option in enumerate(choice.options):
        if step.define(**option) == step:
            return number
    raise ValueError(
        f"{step.label} is none of the choices of {choice.name}: {', '.join(choice.texts)}"
    )


def _try(step: Any, shape: Sequence[int]) -> Tried:
    """A variant's trace and numbers, or why it is refused."""
    try:
        trace = step.trace(*shape)
        used, fit = step.kernel.resources(), step.occupancy()
    except ValueError as error:  # CompileError too
        return Tried(None, {}, _reason(step, str(error)))
    conflicts = sum(trace.counters[CONFLICTS.format(kind)] for kind in KINDS.values())
    record = results(SAME_SM).find(step, SIZE)
    spilled = f", {used.spill_stores} bytes spilled" if used.spill_stores else ""
    speed = f"{three_digits(record.tflops)} TFLOPS, recorded" if record else "not timed"
    numbers = {
        "wavefronts per FMA": f"{trace.wavefronts_per_fma:.3f}",
        "of them bank conflicts": f"{conflicts / trace.counters[PIPE]:.0%}",
        "shared memory": f"{used.shared + step.shared_mem:,} bytes a block",
        "registers": f"{used.registers} a thread{spilled}",
        "on an SM": f"{lanes.count(fit.blocks, 'block')}, {fit.warps} of {fit.max_warps} warps, "
        f"limited by {fit.limit}",
        f"at {SIZE} on an {SAME_SM}": speed,
    }
    return Tried(trace, numbers)


def _reason(step: Any, error: str) -> str:
    """Why a variant is refused: the static_assert that failed, as the source has it, or the error's
    own words."""
    if place := re.search(r":(\d+): error: static assertion failed", error):
        lines = step.source.splitlines()[int(place[1]) - 1 :]
        error = " ".join(line.strip() for line in lines).partition(";")[0]
    return error if error.startswith(step.label) else f"{step.label} is refused: {error}"


def _numbered(
    trace: Any, space: str, warp: int, numbers: Sequence[int]
) -> dict[tuple[str, str, int], WarpAccess]:
    """Those of a warp's accesses to each array in this memory, by kind, array and number."""
    of: dict[tuple[str, str], list[WarpAccess]] = {}
    for a in trace.accesses if trace else ():
        if (a.space, a.warp) == (space, warp):
            of.setdefault((a.kind, a.array), []).append(a)
    return {(*pair, n): found[n] for pair, found in of.items() for n in numbers if n < len(found)}
