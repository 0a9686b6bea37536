"""Whether a reader's own kernel reaches its goals: a table, whatever the kernel does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from anywarp import CompileError, Finding, Kernel, PTXError, Size, Trace, testing

from ...analysis.reference import CheckError
from ...records.table import html_table, table
from .check import Checkable, check

# What a kernel may be guilty of.
FAULTS = (CompileError, CheckError, PTXError, ValueError, TypeError)
MOST_SHOWN = 400  # characters of a message


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
        return f"{self.title}\n{table(self._cells('passed', 'FAILED'), '<<<<')}"

    def _repr_html_(self) -> str:
        style = "text-align:left;vertical-align:top;padding-left:1em"
        rows = [("verdict", "what", "goal", "reached"), *self._cells("✓ passed", "✗ failed")]
        below = 3 * ["white-space:nowrap"] + ["white-space:pre-wrap"]  # what was found may be long
        return html_table(self.title, rows, 4 * [style], below)

    def _cells(self, passed: str, failed: str) -> list[tuple[str, ...]]:
        return [
            (passed if row.passed else failed, row.what, row.goal, row.found) for row in self.rows
        ]


class Attempted(Checkable, Protocol):
    """What is asked of a step here, beside what `check` asks."""

    @property
    def kernel(self) -> Kernel: ...
    def trace(self, M: int, N: int, K: int, keep: Sequence[Any] = ..., /) -> Trace: ...
    def sanitize(self, M: int, N: int, K: int, /) -> tuple[Finding, ...]: ...


def attempt(
    step: Attempted, shape: tuple[int, int, int] | None, goals: Mapping[str, Any]
) -> Attempt:
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
        lambda: step.trace(*small(), ()),
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
    for name, goal in goals.items():
        testing.bounds(name, goal)
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
        counted = testing.Counted(trace(), kernel, shared_mem)
    except FAULTS as error:
        reason = _short(error)
        return Attempt(label, (*rows, *(Row(name, False, "", reason) for name in goals)))
    rows += [Row(name, *testing.reached(name, goal, counted)) for name, goal in goals.items()]
    return Attempt(label, tuple(rows))


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


def small_shape(step: Checkable) -> tuple[int, int, int]:
    """Two tiles along M and N and four along K, or another small shape that the step can do."""
    m, n, k = (step.defines.get(name, 8) for name in ("BM", "BN", "BK"))
    candidates = ((2 * m, 2 * n, 4 * k), (m, n, k), (67, 71, 73))
    return next((shape for shape in candidates if not step.broken(*shape)), candidates[0])


def _short(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN].rstrip() + " …"
