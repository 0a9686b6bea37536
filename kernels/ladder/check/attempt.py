"""Whether a reader's own kernel reaches its goals: a table, whatever the kernel does."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from anywarp.build import CompileError
from anywarp.kernel import Kernel, Size
from anywarp.ptx.errors import PTXError
from anywarp.sanitizer.findings import Finding
from anywarp.sass.hot_loop import machine_loop
from anywarp.sass.operands import fma_operands, operand_cycles
from anywarp.trace.metrics import (
    CONFLICTS,
    FFMA,
    KINDS,
    REQUESTS,
    SECTORS,
    SHARED_INSTRUCTIONS,
    WAVEFRONTS,
)
from anywarp.trace.trace import Trace

from ...analysis.reference import CheckError
from ...records.table import table
from .check import check

# What a kernel may be guilty of.
FAULTS = (CompileError, CheckError, PTXError, ValueError, TypeError)
MOST_SHOWN = 400  # characters of a message


def _sum(trace: Trace, metric: str) -> int:
    """Of loads and stores."""
    return sum(trace.counters[metric.format(kind)] for kind in KINDS.values())


def _each(trace: Trace, metric: str, of: str) -> float:
    whole = _sum(trace, of)
    if not whole:
        raise ValueError("there is no such access to divide by")
    return _sum(trace, metric) / whole


def _per_fma(trace: Trace, *metrics: str) -> float:
    return sum(trace.per_fma(metric) for metric in metrics)


def _issued(kernel: Kernel) -> float:
    loop = machine_loop(kernel)
    if "fma" not in loop:
        raise ValueError("there is no multiply-add to divide by")
    return len(loop) / loop.count("fma")


BOTH = tuple(WAVEFRONTS.format(kind) for kind in KINDS.values())


class Weighed(NamedTuple):
    """What goals are about: a kernel, a trace of it, its blocks' bytes of dynamic shared memory."""

    trace: Trace
    kernel: Kernel
    shared_mem: int


# Goals by name: what is counted, and how it is found.
GOALS: dict[str, tuple[str, Callable[[Weighed], float]]] = {
    "wavefronts_per_fma": (
        "wavefronts of the data pipe for each multiply-add of a warp",
        lambda it: it.trace.wavefronts_per_fma,
    ),
    "shared_wavefronts_per_fma": (
        "wavefronts of shared loads and stores for each multiply-add of a warp",
        lambda it: _per_fma(it.trace, *BOTH),
    ),
    "load_wavefronts_per_fma": (
        "wavefronts of shared loads for each multiply-add of a warp",
        lambda it: _per_fma(it.trace, BOTH[0]),
    ),
    "wavefronts": ("wavefronts of shared memory", lambda it: _sum(it.trace, WAVEFRONTS)),
    "conflicts": ("bank conflicts", lambda it: _sum(it.trace, CONFLICTS)),
    "wavefronts_per_access": (
        "wavefronts for each access of a warp to shared memory",
        lambda it: _each(it.trace, WAVEFRONTS, SHARED_INSTRUCTIONS),
    ),
    "shared_accesses": (
        "accesses of warps to shared memory",
        lambda it: _sum(it.trace, SHARED_INSTRUCTIONS),
    ),
    "requests": ("accesses of warps to global memory", lambda it: _sum(it.trace, REQUESTS)),
    "sectors": ("sectors of global memory", lambda it: _sum(it.trace, SECTORS)),
    "sectors_per_request": (
        "sectors for each access of a warp to global memory",
        lambda it: _each(it.trace, SECTORS, REQUESTS),
    ),
    "multiply_adds": ("multiply-adds of threads", lambda it: it.trace.counters[FFMA]),
    "shared_bytes": (
        "bytes of shared memory of a block",
        lambda it: it.kernel.resources().shared + it.shared_mem,
    ),
    "registers": ("registers of a thread", lambda it: it.kernel.resources().registers),
    "stack": ("bytes of local memory of a thread", lambda it: it.kernel.resources().stack),
    "spills": (
        "bytes that a thread spills",
        lambda it: it.kernel.resources().spill_stores + it.kernel.resources().spill_loads,
    ),
    "instructions_per_fma": (
        "instructions of the machine code for each multiply-add, in the hot loop",
        lambda it: _issued(it.kernel),
    ),
    "operand_cycles_per_fma": (
        "cycles in which a multiply-add gets its operands, in the hot loop",
        lambda it: operand_cycles(it.kernel) / fma_operands(it.kernel).fmas,
    ),
}


class Row(NamedTuple):
    """One demand on a kernel: whether it is met, and the number or the reason."""

    what: str
    passed: bool
    goal: str  # "" where there is no number to reach
    found: str


@dataclass(frozen=True, repr=False)
class Attempt:
    """What came of a kernel of your own: a row for each demand. Prints as a table."""

    label: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether all is met."""
        return all(row.passed for row in self.rows)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def title(self) -> str:
        missed = sum(not row.passed for row in self.rows)
        return f"{self.label}: " + (f"{missed} of {len(self.rows)} failed" if missed else "passed")

    def __repr__(self) -> str:
        cells = [("passed" if row.passed else "FAILED", *self._cells(row)) for row in self.rows]
        return f"{self.title}\n{table(cells, '<<<<')}"

    def _repr_html_(self) -> str:
        style = "text-align:left;vertical-align:top;padding-left:1em"
        wraps = ("nowrap", "nowrap", "nowrap", "pre-wrap")  # only what was found may be long
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="{style};white-space:{wrap}">{html.escape(cell)}</td>'
                for cell, wrap in zip(
                    ("✓ passed" if row.passed else "✗ failed", *self._cells(row)), wraps
                )
            )
            + "</tr>"
            for row in self.rows
        )
        head = "".join(
            f'<th style="{style}">{word}</th>' for word in ("verdict", "what", "goal", "reached")
        )
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    @staticmethod
    def _cells(row: Row) -> tuple[str, str, str]:
        return row.what, row.goal, row.found


def attempt(step: Any, shape: tuple[int, int, int] | None, goals: Mapping[str, Any]) -> Attempt:
    """Check, sanitize, trace and weigh a step: see `Step.attempt`."""
    if shape is not None:
        _require_shape(shape)

    def small() -> tuple[int, int, int]:  # asked for only once the step compiles
        return shape or small_shape(step)

    def right() -> str:
        return f"{len(check(step, 'interpreter').rows)} cases"

    def clean() -> str:
        _require_clean(step.sanitize(*small()))
        return "M = {}, N = {}, K = {}".format(*small())

    return _weigh(
        step.label,
        lambda: step.kernel,
        {"right": right, "clean": clean},
        lambda: step.trace(*small(), keep=()),
        goals,
        step.shared_mem,
    )


def _require_shape(shape: Any) -> None:
    sides = shape if isinstance(shape, (tuple, list)) else ()
    if len(sides) != 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in sides):
        raise ValueError(f"shape must be (M, N, K), whole numbers above 0, not {shape!r}")


def attempt_kernel(
    source: str,
    name: str,
    grid: Size,
    block: Size,
    args: Sequence[Any],
    expected: Mapping[str, Any],
    **goals: Any,
) -> Attempt:
    """Whether any kernel is right, clean and as cheap as you meant: a table, never an error.

        kernels.attempt_kernel(source, "add", 4, 256, (n, a, b, c), {"c": a + b}, requests=96)

    `source`, `name`, `grid`, `block` and `args` are those of a `Kernel` and its launch, in the
    interpreter; args stay as they are. `expected` has what the named arrays must hold afterwards,
    exactly. Goals are those of `Step.attempt`.
    """

    @functools.cache
    def kernel() -> Kernel:
        return Kernel(source, name)

    def own() -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in args]

    def right() -> str:
        after = own()
        kernel()(grid, block, after, "interpreter")
        by_name = dict(zip(kernel().parameter_names, after))
        for array, values in expected.items():
            _require_equal(array, by_name.get(array), np.asarray(values))
        return "as expected"

    def clean() -> str:
        _require_clean(kernel().sanitize(grid, block, own()))
        return ""

    return _weigh(
        name,
        kernel,
        {"right": right, "clean": clean},
        lambda: kernel().trace(grid, block, own(), keep=()),
        goals,
    )


def _weigh(
    label: str,
    compiled: Callable[[], Kernel],
    demands: Mapping[str, Callable[[], str]],
    trace: Callable[[], Trace],
    goals: Mapping[str, Any],
    shared_mem: int = 0,
) -> Attempt:
    """Whether it compiles, meets the demands, which return words, and reaches the goals."""
    bounds = {name: _bounds(name, goal) for name, goal in goals.items()}
    try:
        kernel = compiled()
        kernel.resources()
    except FAULTS as error:
        first = Row("compiles", False, "", _short(error))
        missed = (Row(name, False, "", "not run") for name in (*demands, *goals))
        return Attempt(label, (first, *missed))
    rows = [Row("compiles", True, "", "")]
    for name, demand in demands.items():
        try:
            rows.append(Row(name, True, "", demand()))
        except FAULTS as error:
            rows.append(Row(name, False, "", _short(error)))
    if not goals:
        return Attempt(label, tuple(rows))
    try:
        found = trace()
    except FAULTS as error:
        reason = _short(error)
        return Attempt(label, (*rows, *(Row(name, False, "", reason) for name in goals)))
    for name, (least, most) in bounds.items():
        goal = f"at most {most:g}" if least is None else f"{least:g} to {most:g}"
        try:
            value = GOALS[name][1](Weighed(found, kernel, shared_mem))
        except ValueError as error:
            rows.append(Row(name, False, goal, _short(error)))
            continue
        passed = value <= most and (least is None or value >= least)
        rows.append(Row(name, passed, goal, f"{value:.6g} {GOALS[name][0]}"))
    return Attempt(label, tuple(rows))


def _bounds(name: str, goal: Any) -> tuple[float | None, float]:
    """The least, if there is one, and the most. Raises ValueError for what is no goal."""
    if name not in GOALS:
        listed = "".join(f"\n  {known}: {what}" for known, (what, _) in GOALS.items())
        raise ValueError(f"there is no goal {name!r}; there are{listed}")
    if isinstance(goal, Real):
        return None, float(goal)
    if isinstance(goal, (tuple, list)) and len(goal) == 2:
        least, most = goal
        if isinstance(least, Real) and isinstance(most, Real) and least <= most:
            return float(least), float(most)
    raise ValueError(
        f"{name} is the most that is allowed, a number, or (least, most), not {goal!r}"
    )


def _require_clean(found: Sequence[Finding]) -> None:
    """Raises CheckError with what `sanitize` found."""
    if found:
        raise CheckError("\n".join(str(finding) for finding in found[:3]))


def _require_equal(array: str, found: Any, expected: np.ndarray) -> None:
    """Raises CheckError, naming the first element that differs; ValueError if `found`, what the
    kernel was given by that name, is no array of that shape."""
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{array} is expected, and the kernel has no array of that name")
    if found.shape != expected.shape:
        raise ValueError(f"{array} has the shape {found.shape}; expected are {expected.shape}")
    wrong = np.argwhere(found != expected)  # NaN, too
    if len(wrong):
        at = tuple(int(index) for index in wrong[0])
        raise CheckError(
            f"{array}[{', '.join(map(str, at))}] is {found[at]:g}, not {expected[at]:g}; "
            f"{len(wrong)} of {found.size} elements are wrong"
        )


def small_shape(step: Any) -> tuple[int, int, int]:
    """Two tiles along M and N and four along K, or another small shape that the step can do."""
    m, n, k = (step.defines.get(name, 8) for name in ("BM", "BN", "BK"))
    candidates = ((2 * m, 2 * n, 4 * k), (m, n, k), (67, 71, 73))
    return next((shape for shape in candidates if not step.broken(*shape)), candidates[0])


def _short(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN].rstrip() + " …"
