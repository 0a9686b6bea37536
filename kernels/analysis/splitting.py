"""A float32 as a sum of parts that tensor cores multiply: the arithmetic of 20_tensor_cores.

`product` is that kernel's C, with its bits, in NumPy: for errors of which no formula tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anywarp.analysis import fma32, tensor_core

ROWS = 128  # of a tile of A, and columns of one of B
LEAST_K = 8  # below it, all of C is computed by FMAs


class Kind(NamedTuple):
    """Numbers that parts can be."""

    name: str  # as `tensor_core` has it
    bits: int  # of a significand
    parts: int  # that make a float32
    lost: float  # the share of a number that its parts may lose
    scaled: bool = False  # for each tile, so that its largest number lies between 2^14 and 2^15


KINDS = {
    "BF16": Kind("bf16", 8, 3, 0.0),
    "TF32": Kind("tf32", 11, 2, 2.0**-22),
    "FP16": Kind("f16", 11, 2, 2.0**-11, scaled=True),
}


@np.errstate(over="ignore")
def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """The nearest numbers of a kind, as float32. Where two are equally near it is the even one,
    for TF32 the one further from zero, as the instructions have it."""
    if kind == "FP16":
        return x.astype(np.float16).astype(np.float32)
    dropped = np.uint32(24 - KINDS[kind].bits)
    bits = x.view(np.uint32)
    half: Any = np.uint32(1) << (dropped - np.uint32(1))
    if kind == "BF16":
        half += (bits >> dropped & np.uint32(1)) - np.uint32(1)
    return np.where(np.isfinite(x), (bits + half >> dropped << dropped).view(np.float32), x)


@np.errstate(invalid="ignore")
def split(x: np.ndarray, kind: str = "BF16", parts: int = 3) -> tuple[list[np.ndarray], np.ndarray]:
    """The parts of float32 numbers, the largest first, and what they leave."""
    pieces: list[np.ndarray] = []
    for _ in range(parts):
        pieces.append(rounded(x, kind))
        x = x - pieces[-1]
    return pieces, x


def pairs(parts: int, every: bool = False) -> list[tuple[int, int]]:
    """Which part of A meets which of B, the smallest products first: `every` one, or those that a
    float32 notices."""
    orders = reversed(range(2 * parts - 1 if every else parts))
    return [(p, n - p) for n in orders for p in range(parts) if 0 <= n - p < parts]


def scales(x: np.ndarray, depth: int = 16) -> np.ndarray:
    """What numbers are multiplied by before they are split in FP16: the same in each tile,
    `depth` of whose numbers lie along k."""
    finite = np.abs(np.where(np.isfinite(x), x, np.float32(0)))
    rows = np.maximum.reduceat(finite, range(0, x.shape[0], ROWS), axis=0)
    largest = np.maximum.reduceat(rows, range(0, x.shape[1], depth), axis=1)
    exponent = np.maximum((largest.view(np.uint32) >> 23).astype(int) - 127, -112)
    spread: np.ndarray = np.exp2(14.0 - exponent).repeat(ROWS, 0).repeat(depth, 1)
    return spread.astype(np.float32)[: x.shape[0], : x.shape[1]]


@np.errstate(all="ignore")
def chain(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B by FMAs, one k after another: what the steps without tensor cores compute."""
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for k in range(A.shape[1]):
        total = fma32(A[:, k, None], B[None, k], total)
    return total


@np.errstate(all="ignore")
def product(
    A: np.ndarray,
    B: np.ndarray,
    kind: str = "BF16",
    every: bool = False,
    length: int | None = 16,
    fold: int | None = 512,
    depth: int = 16,
    fallback: bool = True,
) -> np.ndarray:
    """A B of float32 matrices as 20_tensor_cores computes it.

    every: all products of parts, as with ALL=1. length: how many k the tensor cores sum before an
    addition takes that over; None for all. fold: after how many k that sum begins anew and is added
    to the total; None for never. depth: of tiles. fallback: whether rows and columns of numbers
    that parts do not hold, those of sums that are not finite, and short sums are computed by FMAs.
    """
    if fallback and A.shape[1] < LEAST_K:
        return chain(A, B)
    rule, factors = KINDS[kind], (A, B.T)
    scale = [scales(x, depth) if rule.scaled else np.ones_like(x) for x in factors]
    halves = [split(x * s, kind, rule.parts) for x, s in zip(factors, scale)]
    dtype = np.float16 if kind == "FP16" else np.float32
    (of_a, _), (of_b, _) = halves
    zero = np.zeros((A.shape[0], B.shape[1]), np.float32)
    total = sum = zero
    step = length or depth
    for k in range(0, A.shape[1], step):
        here = slice(k, k + step)
        link = zero if length else sum
        for p, q in pairs(rule.parts, every):
            a, b = of_a[p][:, here].astype(dtype), of_b[q][:, here].T.astype(dtype)
            link = tensor_core(a, b, link, rule.name)
        back_a, back_b = (1 / s[:, k] for s in scale)
        sum = fma32(link * back_a[:, None], back_b[None], sum) if length else link
        if fold and (k + step) % fold == 0:
            total, sum = total + sum, zero
    total = total + sum
    if not fallback:
        return total
    rows, columns = (
        ~(np.abs(left) <= np.float32(rule.lost) * np.abs(x * s)).all(1)
        for x, s, (_, left) in zip(factors, scale, halves)
    )
    return _again(A, B, total, rows, columns)


def _again(
    A: np.ndarray, B: np.ndarray, total: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """With FMAs in these rows and columns, and, tile by tile, in rows of other infinite sums."""
    marked = rows[:, None] | columns
    infinite = ~np.isfinite(total) & ~columns
    for j in range(0, total.shape[1], ROWS):
        marked[:, j : j + ROWS] |= infinite[:, j : j + ROWS].any(1)[:, None]
    return np.where(marked, chain(A, B), total) if marked.any() else total
