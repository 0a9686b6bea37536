"""Run a step on the cases that expose wrong kernels, and compare with the float64 reference.

Where beta is 0, C starts full of NaN, so an element that was not written, or was read, shows.
A, B and C lie between guard bands of NaN bytes: a stray read spoils the result, a stray write
is seen afterwards. (The interpreter checks every access besides; its arrays lie where they would
on a GPU, so that a vector read from where none may begin is found.)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from anywarp import choose_device, gpu
from anywarp.ptx import Lying

from ..analysis.reference import CheckError, assert_close, inputs
from ..records.table import html_table, table
from .compiled import Compiled
from .product.layout import ITEM, laid_out

GUARD = 1 << 16  # bytes on either side of a matrix
GUARD_BYTE = 0xFF  # four of them are a float32 NaN, this one
GUARD_NAN = np.full(4, GUARD_BYTE, np.uint8).view(np.float32)[0]


class Case(NamedTuple):
    """A product. `apart`: elements of other matrices between the stored rows of A, B and C;
    `moved`: elements before the first, so that addresses are no multiples of 16 bytes."""

    name: str
    M: int
    N: int
    K: int
    alpha: float = 1
    beta: float = 0
    apart: tuple[int, int, int] = (0, 0, 0)
    moved: int = 0

    @property
    def product(self) -> tuple[int, int, int, float, float]:
        """M, N, K, alpha and beta."""
        return self[1:6]


@dataclass(frozen=True)
class Report:
    """The cases a step passed, each with its worst error as a fraction of the error bound."""

    title: str
    rows: tuple[tuple[Case, float], ...]

    def _cells(self) -> list[tuple[str, ...]]:
        head = ("case", "M", "N", "K", "alpha", "beta", "error / bound")
        return [head] + [
            (case.name, *(f"{number:g}" for number in case.product), f"{ratio:.2g}")
            for case, ratio in self.rows
        ]

    def __repr__(self) -> str:
        return f"{self.title}\n{table(self._cells(), '<>>>>>>')}"

    def _repr_html_(self) -> str:
        styles = ["text-align:left"] + 6 * ["text-align:right;padding-left:1em"]
        return html_table(self.title, self._cells(), styles)


def cases(step: Compiled) -> tuple[Case, ...]:
    """The cases that the step declares it can do, small ones first.

    A loop that loads ahead has a start and an end of its own: hence one, two and three tiles
    along K. Some steps add up sums of hundreds: hence a long one.
    """
    m, n, k = step.defines["BM"], step.defines["BN"], step.defines.get("BK", 8)
    candidates: tuple[Case, ...] = (
        Case("one element", 1, 1, 1),
        Case("one row", 1, 67, 13),
        Case("one column", 71, 1, 17),
        Case("primes", 61, 131, 37),
        Case("primes, alpha and beta", 131, 61, 41, 1.7, -0.3),
        Case("one tile", m, n, k),
        Case("not whole tiles, alpha and beta", m + 4, n + 12, k + 4, 1.7, -0.3),
        Case("two tiles along K, alpha", m, 2 * n, 2 * k, 1.7),
        Case("three tiles along K", 2 * m, n, 3 * k),
        Case("many tiles", 2 * m, 3 * n, 5 * k),
        Case("many tiles, alpha and beta", 3 * m, 2 * n, 4 * k, 1.7, -0.3),
        Case("a long sum", 5, 7, 577),
        Case("K = 0", m, n, 0),
        Case("K = 0, beta", m, n, 0, 1.7, -0.3),
        Case("alpha = 0, NaN in A and B", m, n, k, 0, -0.3),
    )
    if step.alignment < 4 * ITEM:
        moved = step.alignment // ITEM
        name = "odd addresses" if moved == 1 else f"addresses of {step.alignment} bytes"
        candidates += (Case(name, m, n, 3 * k, 1, -0.3, moved=moved),)
    if {"lda", "ldb", "ldc"} <= set(step.arguments):
        candidates += (
            Case("slices", 61, 45, 37, 1.7, -0.3, (5, 2, 3)),
            Case("slices of whole float4", m, 2 * n, 2 * k, apart=(4, 8, 12)),
            Case("slices at odd addresses", m + 4, n + 12, k + 4, 1.7, apart=(4, 1, 8), moved=3),
        )
    possible = tuple(case for case in candidates if step.broken(*case.product) is None)
    part = Case("a part of a tile along K", m, n, k + k // 4)
    if any(case.K % k for case in possible) or step.broken(*part.product):
        return possible
    return (*possible, part)


def check(step: Compiled, device: str = "auto") -> Report:
    """Run `step` on its cases. Raises CheckError, naming case and element, at the first failure,
    and TypeError for what is no step.

    The report does not depend on the device as long as the bits agree.
    """
    if isinstance(step, (str, int)):
        raise TypeError(f"check takes a step: kernels.check(kernels.step({step!r}))")
    where = choose_device(device, (), step.compute_capability, step.shared_mem)
    values = ", ".join(f"{name}={value}" for name, value in step.defines.items())
    rows = tuple((case, _run(step, case, where)) for case in cases(step))
    return Report(f"{step.id} ({values}): every element is within its error bound", rows)


def digest(step: Compiled, M: int, N: int, K: int, device: str = "auto") -> str:
    """SHA-256, in hexadecimal, of the bytes of C = A B for `reference.inputs(M, N, K)`."""
    A, B, _ = inputs(M, N, K)
    where = choose_device(device, (), step.compute_capability, step.shared_mem)
    return hashlib.sha256(step(A, B, device=where).tobytes()).hexdigest()


check.digest = digest  # type: ignore[attr-defined] # beside it, as kernels.check.digest


def _run(step: Compiled, case: Case, where: str) -> float:
    """The worst error of one case, as a fraction of the bound."""
    label = f"{step.label}, {case.name} (M = {case.M}, N = {case.N}, K = {case.K})"
    A, B, C = inputs(case.M, case.N, case.K)
    if case.alpha == 0:
        A[:], B[:] = np.nan, np.nan
    if case.beta == 0:
        C[:] = np.nan
    A, B = laid_out(A, B, step.defines)
    places = [_Place(x, apart, case.moved) for x, apart in zip((A, B, C), case.apart)]
    buffers = [place.buffer(where) for place in places]
    a, b, c = (place.inside(buffer) for place, buffer in zip(places, buffers))
    step(a, b, c, case.alpha, case.beta, where)
    results = []
    for name, before, place, buffer in zip("ABC", (A, B, C), places, buffers):
        after = gpu.to_host(buffer) if where == "gpu" else buffer
        results.append(np.array(place.inside(after)))
        place.inside(after)[:] = GUARD_NAN
        if (after != GUARD_BYTE).any():
            raise CheckError(f"{label}: the step wrote outside {name}")
        if name != "C" and results[-1].tobytes() != before.tobytes():
            raise CheckError(f"{label}: the step changed {name}")
    try:
        return assert_close(results[-1], A, B, C, case.alpha, case.beta).worst_ratio
    except CheckError as error:
        raise CheckError(f"{label}: {error}") from None


class _Place:
    """Where a matrix lies between guard bands: its rows, or its columns if those are stored."""

    def __init__(self, matrix: np.ndarray, apart: int, moved: int):
        self.matrix, self.transposed = matrix, not matrix.flags.c_contiguous
        rows, columns = matrix.T.shape if self.transposed else matrix.shape
        self.stored = rows, columns, columns + apart
        self.start = GUARD + moved * matrix.itemsize

    def inside(self, buffer: Any) -> Any:
        """The matrix in a buffer, of bytes."""
        rows, columns, pitch = self.stored
        whole = buffer[self.start :][: 4 * rows * pitch].view(np.float32).reshape(rows, pitch)
        rows_alone = whole[:, :columns] if pitch > columns else whole
        return rows_alone.T if self.transposed else rows_alone

    def buffer(self, where: str) -> Any:
        """A buffer on the device that holds the matrix between guard bands."""
        rows, _, pitch = self.stored
        made = np.full(self.start + 4 * rows * pitch + GUARD, GUARD_BYTE, np.uint8)
        self.inside(made)[:] = self.matrix
        return gpu.to_device(made) if where == "gpu" else made.view(Lying)
