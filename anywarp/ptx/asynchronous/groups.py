"""Groups of asynchronous operations, which each thread commits and waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..aliases import Array


class Groups:
    """What has been issued in a chunk and not been waited for, in groups, counted for each
    thread. An operation is anything; masks are bool (B, T)."""

    def __init__(self) -> None:
        self.open: list[Any] = []  # (operation, threads): not yet committed
        self.closed: list[Any] = []  # [operations, threads that committed them], oldest first

    def add(self, operation: Any, threads: Array) -> None:
        self.open.append((operation, threads))

    def commit(self, threads: Array) -> None:
        mine = self.open  # of other threads too, which the group does not have
        self.open = [
            (operation, left) for operation, owners in mine if (left := owners & ~threads).any()
        ]
        self.closed.append([mine, threads.copy()])

    def older(
        self, threads: Array, pending: int, keep: bool = False
    ) -> Iterator[tuple[Any, Array]]:
        """The operations, oldest first, of all but the newest `pending` groups of each of these
        threads, and whose they are. The groups are forgotten then, unless they are kept."""
        newer = np.zeros(threads.shape, np.int64)
        ripe = []
        for operations, owners in reversed(self.closed):
            done = owners & threads & (newer >= pending)
            newer += owners
            if done.any():
                ripe.append((operations, done))
                if not keep:
                    owners &= ~done
        self.closed = [group for group in self.closed if group[1].any()]
        for operations, done in reversed(ripe):
            for operation, owners in operations:
                if (owners & done).any():
                    yield operation, owners & done

    def of(self, threads: Array) -> Iterator[tuple[Any, Array]]:
        """All operations of these threads, oldest first."""
        for operations, committed in [*self.closed, (self.open, threads)]:
            for operation, owners in operations:
                if (mine := owners & committed & threads).any():
                    yield operation, mine

    def forget(self, over: Callable[[Any], bool]) -> None:
        """Take out the operations that are over, though nobody has waited for their groups."""
        self.open = [(operation, owners) for operation, owners in self.open if not over(operation)]
        for group in self.closed:
            group[0] = [
                (operation, owners) for operation, owners in group[0] if not over(operation)
            ]

    def __bool__(self) -> bool:
        return bool(self.open or self.closed)
