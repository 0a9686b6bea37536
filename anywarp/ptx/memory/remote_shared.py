"""Places in shared memory that threads name one by one, be they their own block's or another's.

What reaches them is as a rule done by few threads, so that these are flat arrays, an element for
each thread that takes part, and say in which block of the chunk (`row`) each place lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..aliases import Array, DType, Mask, State
from ..errors import PTXError
from ..memory.allocations import Space
from ..text.forms import refuse
from ..text.syntax import Instruction
from . import allocations, clusters
from .events import Fault

SHARED_WORDS = {"shared", "shared::cta", "shared::cluster"}


@dataclass(frozen=True)
class Places:
    """N places in shared memory, and the threads that name them in an instruction of a chunk.
    int64 (N,) arrays."""

    i: Instruction
    state: State
    row: Array  # the block of the chunk that the place lies in
    address: Array  # in shared memory
    block: Array  # of the thread, within the chunk
    thread: Array

    def __getitem__(self, which: Any) -> Places:
        arrays = (self.row, self.address, self.block, self.thread)
        return Places(self.i, self.state, *(x[which] for x in arrays))

    def __len__(self) -> int:
        return self.row.size

    @property
    def key(self) -> Array:
        """A number for each place."""
        return self.row.astype(np.int64) << 32 | self.address

    def require(self, right: Any, say: Any) -> None:
        """Raise a PTXError with what `say(n)` is of the first place n that is not right."""
        if not right.all():
            n = int(np.argmin(right))
            raise PTXError(say(n), instruction=self.i, thread=self.thread_name(n))

    def values(self, x: Array) -> Array:
        """A register's value for each of the N threads."""
        return np.broadcast_to(x, self.state.shape)[self.block, self.thread]

    def whose(self, n: int) -> str:
        """In words, in whose memory the nth place lies; nothing for the thread's own block's."""
        if self.row[n] == self.block[n]:
            return ""
        return f", in the shared memory of {self.state.describe_block(self.row[n])}"

    def thread_name(self, n: int) -> str:
        return self.state.describe_thread(self.block[n], self.thread[n])


def space_of(words: Iterable[str]) -> str:
    """The space that an operand lies in: what the modifiers say, or "generic"."""
    named = [word for word in words if word in SHARED_WORDS]
    refuse(len(named) > 1, ".".join(named))
    return named[0] if named else "generic"


def in_space(i: Instruction, state: State, space: str, address: Array, mask: Mask) -> Places:
    """Where the addresses of the threads of the mask lie. `space`: "global", or as `space_of`
    says."""
    block, thread = np.nonzero(state.full(mask))
    address = np.broadcast_to(address, state.shape)[block, thread]
    places = Places(i, state, block, address, block, thread)
    if space == "global":
        return replace(places, row=np.zeros_like(block))
    if space == "generic":
        wild = lambda n: f"the generic address {int(address[n]):#x} is not one of shared memory"
        places.require(allocations.window_of(address) == 1, wild)
        places = replace(places, address=address - allocations.SHARED_WINDOW)
    if space in ("shared", "shared::cta"):
        return replace(places, address=clusters.unnamed(state, places.address, block))
    row, address = clusters.split(state, places.address, block)
    return replace(places, row=row, address=address)


def within(kind: str, space: Space, at: Places, width: int, align: int) -> Array:
    """bool (N,): which of these addresses of a space are in bounds and aligned, and of a block
    that has not exited. All of them, unless the run is tolerant: then the sink is told of the
    others."""
    i, state = at.i, at.state
    wrong = space.check(at.address, None, width, align, kind == "load")
    wrong = np.zeros(len(at), bool) if wrong is None else wrong
    elsewhere = at.row != at.block if space.name == "shared" else np.zeros(len(at), bool)
    gone = elsewhere & ~clusters.present(state)[at.row] if elsewhere.any() else elsewhere
    if not (wrong | gone).any():
        return ~wrong
    if not state.tolerant:
        n = int(np.argmax(wrong | gone))
        if gone[n]:
            raise clusters.left(i, state, at.row[n], at.thread_name(n))
        raise space.fault(at.address, wrong, width, align, i, at.thread_name, at.whose(n))
    here = at.block, at.thread
    spread = lambda x, dtype: scattered(x, here, state.shape, dtype)
    rows = spread(at.row, np.int64) if elsewhere.any() else None
    exited = spread(gone, bool) if gone.any() else None
    address, mask = spread(at.address, np.int64), spread(wrong | gone, bool)
    state.tell(Fault, i, kind, space.name, width, align, address, mask, rows, exited)
    return ~(wrong | gone)


def scattered(x: Array, here: Any, shape: tuple[int, ...], dtype: DType) -> Array:
    """Values of N threads as an array (B, T), 0 for the others."""
    full = np.zeros(shape, dtype)
    full[here] = x
    return full
