"""Ranks in this process: a list of arrays for each, and copies between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Ranks:
    """Does a round's copies and products one after the other, the copies first or last.

    By the meaning of a round the order makes no difference, and the tests try both.
    """

    def __init__(self, product: Any, alpha: float = 1, copies_last: bool = False):
        self.product = product
        self.alpha = alpha
        self.copies_last = copies_last

    def empty(self, rank: int, size: int) -> np.ndarray:
        return np.full(size, np.nan, np.float32)  # NaN: what is used before it is written is seen

    def round(self, moves: Sequence[Any], works: Sequence[Any]) -> None:
        if self.copies_last:
            self._multiply(works)
        for move in moves:
            for _, target in move.targets:
                target[...] = move.source
        if not self.copies_last:
            self._multiply(works)

    def _multiply(self, works: Sequence[Any]) -> None:
        for work in works:
            self.product(work.a, work.b, work.c, self.alpha, work.beta)

    def finish(self) -> None:
        pass
