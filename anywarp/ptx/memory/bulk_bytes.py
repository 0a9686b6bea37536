"""What bulk copies carry: stretches of bytes, in units of 16.

N operations, each of a stretch of its own size; they are fetched and delivered all at once, or
only some of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array
from ..text.forms import DTYPES, bits
from . import allocations
from .atomics import take_turns
from .swizzle import UNIT


def units_of(start: Array, size: Array) -> tuple[Array, Array]:
    """The units of N stretches of bytes, by number, and which stretch each belongs to."""
    count = size // UNIT
    of = np.repeat(np.arange(len(size)), count)
    first = start // UNIT - (np.cumsum(count) - count)
    return first[of] + np.arange(of.size), of


def view(space: allocations.Space) -> Array:
    """The units of a space, (units, 2) of uint64."""
    return space.data.view(np.uint64).reshape(-1, 2)


class Cargo:
    """N stretches from one space on their way to another. `start` and `to`: their first bytes in
    the data of the spaces; rows have been added."""

    def __init__(
        self,
        source: allocations.Space,
        start: Array,
        target: allocations.Space,
        to: Array,
        size: Array,
    ) -> None:
        self.source, self.target, self.count = source, target, len(size)
        self.taken, self.of = units_of(start, size)
        self.given = units_of(to, size)[0]
        self.held = np.empty((self.of.size, 2), np.uint64)

    def _units(self, numbers: Array | None) -> Any:
        if numbers is None or len(numbers) == self.count:
            return slice(None)
        wanted = np.zeros(self.count, bool)
        wanted[numbers] = True
        return wanted[self.of]

    def fetch(self, numbers: Array | None = None) -> None:
        """Read the stretches with these numbers; all of them without."""
        units = self._units(numbers)
        self.held[units] = view(self.source)[self.taken[units]]

    def deliver(self, numbers: Array | None = None) -> None:
        units = self._units(numbers)
        view(self.target)[self.given[units]] = self.held[units]

    def reduce(self, numbers: Array | None, kind: str, operation: Callable[..., Any]) -> None:
        """Instead of delivering them: combine each element with the one that is there."""
        units, size = self._units(numbers), bits(kind) // 8
        dtype = DTYPES[kind]
        there = self.target.views[size].view(dtype)
        each = UNIT // size
        index = (self.given[units][:, None] * each + np.arange(each)).reshape(-1)
        take_turns(there, index, [self.held[units].reshape(-1).view(dtype)], operation)
