"""Addresses of shared memory that many accesses have in common, but for an offset.

The loads of an unrolled loop start from one register. What is known of its values, least and
greatest, spares each of them the look at every address; and where nested loops run through them,
as `y * 32 + x` does for the threads of a block, a load is the copy of a view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..aliases import Array, Reader, State

LEAST_LOOP = 8  # an innermost loop of fewer is no faster than a gather


@dataclass(frozen=True, eq=False)
class Pattern:
    """address: int64 (1, T), the same in every block. bits: set in any of them. nest: nested
    loops, as (count, step), that run through them, or None. windows: what `Space.windows`
    found for it, by (offset, size)."""

    address: Array
    low: int
    high: int
    bits: int
    nest: list[tuple[int, int]] | None
    windows: dict[Any, Any] = field(default_factory=dict[Any, Any])


def pattern(address: Array) -> Pattern:
    """What there is to know of addresses (1, T)."""
    row = address[0]
    nest = loops(row)
    if nest and nest[-1][0] < LEAST_LOOP:
        nest = None
    bits = int(np.bitwise_or.reduce(row))
    return Pattern(address, int(row.min()), int(row.max()), bits, nest)


def loops(numbers: Array) -> list[tuple[int, int]] | None:
    """Nested loops, as (count, step) from the outermost on, that run through these numbers one
    after another; None if none do."""
    nest: list[tuple[int, int]] = []
    while len(numbers) > 1:
        steps = np.diff(numbers)
        breaks = np.flatnonzero(steps != steps[0])
        count = int(breaks[0]) + 1 if breaks.size else len(numbers)
        rows = numbers.reshape(-1, count) if len(numbers) % count == 0 else None
        if rows is None or (np.diff(rows, axis=1) != steps[0]).any():
            return None
        nest.insert(0, (count, int(steps[0])))
        numbers = rows[:, 0]
    return nest


def recurring(slot: int, address_of: Reader) -> Callable[..., Any]:
    """A function state -> the Pattern of the addresses in a register, if an access without a mask
    has had the same array before and they do not depend on the block; else None."""

    def find(state: State) -> Pattern | None:
        register = state.registers[slot]
        last, known = state.patterns.get(slot, (None, None))
        if last is not register:
            state.patterns[slot] = register, "seen once"
            return None
        if isinstance(known, str):
            known = pattern(address_of(state.registers)) if register.shape[0] == 1 else None
            state.patterns[slot] = register, known
        return known

    return find
