"""Whether a reader's own kernel reaches its goals: a table, whatever the kernel does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anywarp import CompileError, Finding, Kernel, PTXError, Size, testing

from ..analysis.reference import CheckError
from ..records.table import html_table, table
from .declared import Declared

# What a kernel may be guilty of.
FAULTS = (CompileError, CheckError, PTXError, ValueError, TypeError)
MOST_SHOWN = 400  # characters of a message


class Row(NamedTuple):
    """One demand on a kernel: whether it is met, None if only NVRTC can tell, and the number or the
    reason."""

    what: str
    passed: bool | None
    goal: str  # "" where there is no number to reach
    found: str


@dataclass(frozen=True, repr=False)
class Attempt:
    """What came of a kernel of your own: a row for each demand. Prints as a table."""

    label: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether all is met that can be told here."""
        return all(row.passed is not False for row in self.rows)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def title(self) -> str:
        verdicts = [row.passed for row in self.rows]
        missed, open_ = verdicts.count(False), verdicts.count(None)
        found = f"{missed} of {len(self.rows)} failed" if missed else "passed"
        return f"{self.label}: {found}" + f", {open_} not told without NVRTC" * bool(open_)

    def __repr__(self) -> str:
        return f"{self.title}\n{table(self._cells('passed', 'FAILED'), '<<<<')}"

    def _repr_html_(self) -> str:
        style = "text-align:left;vertical-align:top;padding-left:1em"
        rows = [("verdict", "what", "goal", "reached"), *self._cells("✓ passed", "✗ failed")]
        below = 3 * ["white-space:nowrap"] + ["white-space:pre-wrap"]  # what was found may be long
        return html_table(self.title, rows, 4 * [style], below)

    def _cells(self, passed: str, failed: str) -> list[tuple[str, ...]]:
        words = {True: passed, False: failed, None: "not told"}
        return [(words[row.passed], row.what, row.goal, row.found) for row in self.rows]


def require_shape(shape: Any) -> None:
    """Raise ValueError for what is no (M, N, K)."""
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

    kernel = functools.cache(lambda: Kernel(source, name))

    def own() -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in args]

    def compiles() -> str:
        return require_compiled(kernel())

    def right() -> str:
        after = own()
        kernel()(grid, block, after, "interpreter")
        by_name = dict(zip(kernel().parameter_names, after))
        for array, values in expected.items():
            _require_equal(array, by_name.get(array), np.asarray(values))
        return "as expected"

    def clean() -> str:
        require_clean(kernel().sanitize(grid, block, own()))
        return ""

    def count() -> testing.Counted:
        return testing.Counted(kernel().trace(grid, block, own(), keep=()), kernel(), 0)

    return attempted(name, (compiles, right, clean), count, goals)


def attempted(
    label: str,
    demands: Sequence[Callable[[], str]],
    count: Callable[[], Any],
    goals: Mapping[str, Any],
    known: Mapping[str, testing.Goal] = testing.GOALS,
) -> Attempt:
    """Whether the demands are met, by the names of the functions, which return words or raise one
    of FAULTS; and whether the goals are reached, by what `count` gives. Nothing else is run where
    the first demand fails. Raises ValueError for a goal that is not `known`."""
    for name, goal in goals.items():
        testing.bounds(name, goal, known)
    first, *others = demands
    rows = [_demanded(first)]
    if not rows[0].passed:
        names = (*(demand.__name__ for demand in others), *goals)
        return Attempt(label, (*rows, *(Row(name, False, "", "not run") for name in names)))
    rows += map(_demanded, others)
    if goals:
        try:
            counted = count()
        except FAULTS as error:
            told, why = {row.found for row in rows}, _short(error)
            why = "not counted" if why in told else why  # once is enough
            rows += [Row(name, False, "", why) for name in goals]
        else:
            rows += [Row(x, *testing.reached(x, goal, counted, known)) for x, goal in goals.items()]
    return Attempt(label, tuple(rows))


def _demanded(demand: Callable[[], str]) -> Row:
    """Whether a demand is met, and its words, or those of its error."""
    try:
        return Row(demand.__name__, True, "", demand())
    except FAULTS as error:
        return Row(demand.__name__, False, "", _short(error))


def require_compiled(kernel: Kernel) -> str:
    """Raise one of FAULTS if there is no machine code of a kernel or, if clang has compiled it or
    it is PTX, if the interpreter cannot read it; else say if it was clang."""
    if kernel.by_clang or kernel.made_elsewhere:
        _ = kernel.entry
        return "by clang" * kernel.by_clang
    kernel.resources()
    return ""


def require_clean(findings: Sequence[Finding]) -> None:
    """Raise CheckError with the first of what `sanitize` found."""
    if findings:
        raise CheckError("\n".join(map(str, findings[:3])))


def _require_equal(array: str, held: Any, expected: np.ndarray) -> None:
    """Raises CheckError, naming the first element that differs; ValueError if `held`, what the
    kernel was given by that name, is no array of that shape."""
    if not isinstance(held, np.ndarray):
        raise ValueError(f"{array} is expected, and the kernel has no array of that name")
    if held.shape != expected.shape:
        raise ValueError(f"{array} has the shape {held.shape}; expected are {expected.shape}")
    wrong = np.argwhere(held != expected)  # NaN, too
    if len(wrong):
        at = tuple(int(index) for index in wrong[0])
        raise CheckError(
            f"{array}[{', '.join(map(str, at))}] is {held[at]:g}, not {expected[at]:g}; "
            f"{len(wrong)} of {held.size} elements are wrong"
        )


def small_shape(step: Declared) -> tuple[int, int, int]:
    """Two tiles along M and N and four along K, or another small shape that the step can do."""
    m, n, k = (step.defines.get(name, 8) for name in ("BM", "BN", "BK"))
    candidates = ((2 * m, 2 * n, 4 * k), (m, n, k), (67, 71, 73))
    return next((shape for shape in candidates if not step.broken(*shape)), candidates[0])


def _short(error: Exception) -> str:
    """What an error says, or its beginning."""
    text = str(error) or type(error).__name__
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN].rstrip() + " …"
