"""Tables of what kernels cost for each multiply-add of a warp, part by part, and of anything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anywarp.analysis import LANES, SCHEDULERS
from anywarp.draw import boxed
from anywarp.sass import machine_loop
from anywarp.trace.metrics import EXECUTED, FFMA, PIPE

from ...analysis import sm_limits
from ...analysis.waiting import UNITS, compared, in_words
from ...ladder.step import Step
from ...records import RECORDED_ON, counters, stalls
from ...records.table import html_table, table as text_table
from .plots import label_of

DASH, SIDES = "–", {"<": "left", ">": "right"}
Steps = Sequence[Step] | Mapping[Step, str]  # with what their columns are called


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of words, the first the head; notebooks show it as HTML, below it what it is of."""

    rows: tuple[tuple[str, ...], ...]
    caption: str

    def __repr__(self) -> str:
        return f"{text_table(self.rows, self._sides())}\n\n{self.caption}".strip()

    def _repr_html_(self) -> str:
        first, *others = (f"text-align:{SIDES[side]}" for side in self._sides())
        styles = [first, *(f"{other};padding-left:.6em" for other in others)]
        return boxed(html_table("", self.rows, styles), "Table", self.caption)

    def _sides(self) -> str:
        """One of SIDES for each column: words are at the left, as the first column, numbers at the
        right."""
        numbers = ([x.lstrip("+-< ")[:1].isdigit() for x in said if x.strip(DASH)]
                   for said in [*zip(*self.rows[1:])][1:])  # fmt: skip
        return "<" + "".join("<>"[2 * sum(each) > len(each)] for each in numbers)


def table(head: Sequence[Any], *rows: Sequence[Any], caption: str = "") -> Table:
    """Any table: a number that is not whole has three digits, None and NaN are dashes."""
    return Table(tuple(tuple(map(_said, row)) for row in (head, *rows)), caption)


def costs(steps: Steps, size: int = 256, predicted: Sequence[float] = ()) -> Table:
    """Wavefronts of the data stage for each FMA of a warp, by what takes them.

    As traced at M = N = K = size, their sum, what was predicted of it, if that is given, and what
    Nsight Compute counted on an H200, which has the size of its record alone. Below stand the
    cycles that an SM took at the size of `kernels.stalls`.
    """
    named = _named(steps)
    parts: dict[Step, dict[str, float]] = {}
    for step in named:
        trace = step.trace(size, size, size, keep=())
        parts[step] = defaultdict(float)
        for place, cost in trace.costs.items():
            parts[step][_part(place, cost)] += cost.wavefronts * LANES / trace.counters[FFMA]
    names = sorted({part for each in parts.values() for part in each}, key=_order)
    known, waited = counters(RECORDED_ON), stalls(RECORDED_ON)
    counted = known["steps"] if known["size"] == size else {}
    rows = [(name, *(parts[step][name] for step in named)) for name in names]
    rows += [("all, predicted", *map(float, predicted))] if predicted else []
    rows.append(("all, counted", *(sum(parts[step].values()) for step in named)))
    seen = [counted.get(step.label) for step in named]
    rows.append(("measured", *(x and x[PIPE] * LANES / x[FFMA] for x in seen)))
    taken = [waited["steps"].get(step.label) for step in named]
    cycles = (record and sm_limits.cycles(record) for record in taken)
    rows.append((f"cycles of an SM, at {waited['size']}", *cycles))
    return table(
        ("wavefronts for each FMA", *named.values()),
        *(_digits(row) for row in rows),
        caption=f"For each FMA of a warp, M = N = K = {size}; measured on an {RECORDED_ON}.",
    )


def instructions(steps: Steps) -> Table:
    """Machine instructions of the main loop for each FMA, by kind; the cycles in which the four
    schedulers can issue them; and what an H200 executed and took, as in `kernels.stalls`."""
    named, waited = _named(steps), stalls(RECORDED_ON)
    loops = {step: Counter(machine_loop(step.kernel)) for step in named}
    kinds = sorted(
        {kind for loop in loops.values() for kind in loop},
        key=lambda kind: (-max(loop[kind] / loop["fma"] for loop in loops.values()), kind),
    )
    taken = [waited["steps"].get(step.label) for step in named]
    rows = [(kind, *(loop[kind] / loop["fma"] for loop in loops.values())) for kind in kinds]
    executed = [x and x[EXECUTED] * LANES / x[FFMA] for x in taken]
    rows += [
        ("all of the loop", *(loop.total() / loop["fma"] for loop in loops.values())),
        ("executed by the kernel", *executed),
        ("a quarter: issue cycles", *(x and x / SCHEDULERS for x in executed)),
        ("cycles of an SM", *(x and sm_limits.cycles(x) for x in taken)),
    ]
    return table(
        ("instructions for each FMA", *named.values()),
        *(_digits(row) for row in rows),
        caption=f"Executed and cycles: an {RECORDED_ON}, M = N = K = {waited['size']}.",
    )


def waits(steps: Steps, per_fma: bool = False) -> Table:
    """Where a scheduler's cycles go, a column for each step: issued, and by reason those in which
    no warp was ready (`analysis.scheduler_cycles`)."""
    named, record = _named(steps), stalls(RECORDED_ON)
    found, (unit, form) = compared(record["steps"], list(named), per_fma), UNITS[per_fma]
    rows = [
        (in_words(x), *(format(each[x], form) for each in found.values()))
        for x in found[next(iter(named)).label]
    ]
    rows.append(("whole", *(format(sum(each.values()), form) for each in found.values())))
    return table(
        (unit, *named.values()),
        *rows,
        caption=f"{RECORDED_ON}, M = N = K = {record['size']}; waits split as sampled on an H100.",
    )


def _named(steps: Steps) -> dict[Step, str]:
    """The steps, and what their columns are called."""
    if isinstance(steps, Mapping):
        return dict(steps)
    return {step: label_of(step.label) for step in steps}


def _part(place: Any, cost: Any) -> str:
    """The row of a line's cost."""
    if hasattr(cost, "conflicts"):
        return f"loads of {place.array}" if place.kind == "load" else "stores to shared memory"
    return "global memory"


def _order(part: str) -> tuple[bool, bool, str]:
    """Loads of shared memory first, global memory last."""
    return part.startswith("global"), part.startswith("stores"), part


def _said(cell: Any) -> str:
    """A cell in words."""
    if cell is None or cell != cell:
        return DASH
    return format(cell, ".3g" if isinstance(cell, float) else "," if isinstance(cell, int) else "")


def _digits(row: Iterable[Any]) -> list[Any]:
    """A row with three decimals."""
    return [f"{x:.3f}" if isinstance(x, float) else x for x in row]
