"""What warps cost, each distinct one weighed once.

The warps of a kernel repeat one another, in a loop and from block to block, but for shifts that
change no cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from .. import analysis

PATTERNS = 1 << 14  # of warps of one kind, remembered at most
LINE = analysis.LINE_BYTES  # a shift by which changes no sector and no bank
SHIFT = LINE.bit_length() - 1  # a power of 2
LINE_IN_BANK = np.argsort(analysis.tag_banks(np.arange(4)))  # of the first four lines


def near(addresses: np.ndarray, active: np.ndarray, tags: bool = False) -> np.ndarray:
    """Addresses of warps, int64 of shape (..., 32), each warp's moved by whole lines so that it
    begins in the first; -1 for lanes that take no part. With `tags`, other lines come to be four
    times as far away, or up to three lines more, so that which tags share a bank stays."""
    lines = addresses >> SHIFT
    everybody = active.all()  # which spares copies
    first = (lines if everybody else np.where(active, lines, 1 << 55)).min(-1, keepdims=True)
    moved = lines - first
    if tags and (moved if everybody else moved[active]).any():
        moved = 4 * moved
        moved += LINE_IN_BANK[analysis.tag_banks(lines ^ first ^ moved)]  # a bank is linear
    moved = (moved << SHIFT) + (addresses & (LINE - 1))
    return moved if everybody else np.where(active, moved, -1)


def distinct(rows: np.ndarray) -> dict[bytes, int]:
    """How often each row is there. rows: int64 of shape (count, ..., 32)."""
    rows = np.ascontiguousarray(rows).reshape(len(rows), -1)
    return Counter(rows.view(f"V{rows.strides[0]}").ravel().tolist())  # bytes, hashed fast


class Patterns:
    """Of each kind of access, the costs of all patterns that were seen."""

    def __init__(self) -> None:
        self.known: dict[Hashable, dict[bytes, tuple[int, ...]]] = {}

    def total(
        self, warps: np.ndarray, kind: Hashable, weigh: Callable[[np.ndarray], Any]
    ) -> tuple[int, ...]:
        """The costs of warps, added up. warps: int64, a row for each. `weigh(rows)` gives, of
        warps of this kind, a list for each cost; the first axis of `rows` is that of `warps`."""
        times = distinct(warps)
        known = self.known.setdefault(kind, {})
        if new := [row for row in times if row not in known]:
            if len(known) + len(new) > PATTERNS:
                known.clear()
                new = list(times)
            rows = np.frombuffer(b"".join(new), warps.dtype).reshape(-1, *warps.shape[1:])
            known.update(zip(new, zip(*weigh(rows))))
        weighted = ([n * cost for cost in known[row]] for row, n in times.items())
        return tuple(map(sum, zip(*weighted)))
