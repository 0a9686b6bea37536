"""Run a step on the cases that expose wrong kernels, and compare with the float64 reference.

Where beta is 0, C starts full of NaN, so an element that was not written, or was read, shows.
A, B and C lie between guard bands of NaN bytes: a stray read spoils the result, a stray write
is seen afterwards. (The interpreter checks every access besides.)
"""

from __future__ import annotations

import hashlib
import html
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..run import gpu
from ..run.kernel import choose_device
from .reference import CheckError, assert_close, inputs

GUARD = 1 << 16  # bytes on either side of a matrix
GUARD_BYTE = 0xFF  # four of them are a float32 NaN


class Case(NamedTuple):
    name: str
    M: int
    N: int
    K: int
    alpha: float = 1
    beta: float = 0


@dataclass(frozen=True)
class Report:
    """The cases a step passed, each with its worst error as a fraction of the error bound."""

    title: str
    rows: tuple[tuple[Case, float], ...]

    def _cells(self) -> list[tuple[str, ...]]:
        head = ("case", "M", "N", "K", "alpha", "beta", "error / bound")
        return [head] + [
            (case.name, *(f"{number:g}" for number in case[1:]), f"{ratio:.2g}")
            for case, ratio in self.rows
        ]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            )
            for row in cells
        ]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        styles = ["text-align:left"] + 6 * ["text-align:right;padding-left:1em"]
        head, *rows = (
            "".join(
                f'<{tag} style="{style}">{html.escape(cell)}</{tag}>'
                for cell, style in zip(row, styles)
            )
            for row, tag in zip(self._cells(), ["th"] + ["td"] * len(self.rows))
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def cases(step: Any) -> tuple[Case, ...]:
    """The cases that the step declares it can do, small ones first.

    A loop that loads ahead has a start and an end of its own: hence one, two and three tiles
    along K.
    """
    m, n, k = step.defines["BM"], step.defines["BN"], step.defines.get("BK", 8)
    candidates = (
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
        Case("K = 0", m, n, 0),
        Case("K = 0, beta", m, n, 0, 1.7, -0.3),
        Case("alpha = 0, NaN in A and B", m, n, k, 0, -0.3),
    )
    return tuple(case for case in candidates if step.broken(*case[1:]) is None)


def check(step: Any, device: str = "auto") -> Report:
    """Run `step` on its cases. Raises CheckError, naming case and element, at the first failure.

    The report does not depend on the device as long as the bits agree.
    """
    where = choose_device(device, (), step.compute_capability)
    values = ", ".join(f"{name}={value}" for name, value in step.defines.items())
    rows = tuple((case, _run(step, case, where)) for case in cases(step))
    return Report(f"{step.id} ({values}): every element is within its error bound", rows)


def digest(step: Any, M: int, N: int, K: int, device: str = "auto") -> str:
    """SHA-256, in hexadecimal, of the bytes of C = A B for `reference.inputs(M, N, K)`."""
    A, B, _ = inputs(M, N, K)
    where = choose_device(device, (), step.compute_capability)
    return hashlib.sha256(step(A, B, device=where).tobytes()).hexdigest()


def _run(step: Any, case: Case, where: str) -> float:
    """The worst error of one case, as a fraction of the bound."""
    label = f"{step.label}, {case.name} (M = {case.M}, N = {case.N}, K = {case.K})"
    A, B, C = inputs(case.M, case.N, case.K)
    if case.alpha == 0:
        A[:], B[:] = np.nan, np.nan
    if case.beta == 0:
        C[:] = np.nan
    buffers, matrices = zip(*(_guarded(x, where) for x in (A, B, C)))
    step(*matrices, alpha=case.alpha, beta=case.beta, device=where)
    results = []
    for name, before, buffer in zip("ABC", (A, B, C), buffers):
        after = gpu.to_host(buffer) if where == "gpu" else buffer
        guards = np.concatenate([after[:GUARD], after[GUARD + before.nbytes :]])
        if (guards != GUARD_BYTE).any():
            raise CheckError(f"{label}: the step wrote outside {name}")
        results.append(after[GUARD : GUARD + before.nbytes])
        if name != "C" and results[-1].tobytes() != before.tobytes():
            raise CheckError(f"{label}: the step changed {name}")
    result = results[-1].view(np.float32).reshape(C.shape)
    try:
        return assert_close(result, A, B, C, case.alpha, case.beta).worst_ratio
    except CheckError as error:
        raise CheckError(f"{label}: {error}") from None


def _guarded(matrix: np.ndarray, where: str) -> tuple[Any, Any]:
    """A buffer on the device that holds `matrix` between guard bands, and the matrix in it."""
    buffer = np.full(matrix.nbytes + 2 * GUARD, GUARD_BYTE, np.uint8)
    inside = slice(GUARD, GUARD + matrix.nbytes)
    buffer[inside] = matrix.reshape(-1).view(np.uint8)
    if where == "gpu":
        buffer = gpu.to_device(buffer)
    return buffer, buffer[inside].view(np.float32).reshape(matrix.shape)
