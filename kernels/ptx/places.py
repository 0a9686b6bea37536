"""Places in shared memory that threads name one by one, be they their own block's or another's.

What reaches them is as a rule done by few threads, so that these are flat arrays, an element for
each thread that takes part, and say in which block of the chunk (`row`) each place lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import memory
from .errors import PTXError
from .events import Fault
from .forms import Unsupported

SHARED = {"shared", "shared::cta", "shared::cluster"}


@dataclass(frozen=True)
class Places:
    """N places in shared memory, and the threads that name them. int64 (N,) arrays."""

    row: np.ndarray  # the block of the chunk that the place lies in
    address: np.ndarray  # in shared memory
    block: np.ndarray  # of the thread, within the chunk
    thread: np.ndarray

    def __getitem__(self, which) -> Places:
        return Places(self.row[which], self.address[which], self.block[which], self.thread[which])

    def __len__(self) -> int:
        return self.row.size

    @property
    def key(self) -> np.ndarray:
        """A number for each place."""
        return self.row << 32 | self.address

    def thread_name(self, state, n: int) -> str:
        return state.describe_thread(self.block[n], self.thread[n])


def space_of(words) -> str:
    """The space that an operand lies in: what the modifiers say, or "generic"."""
    named = [word for word in words if word in SHARED]
    if len(named) > 1:
        raise Unsupported(".".join(named))
    return named[0] if named else "generic"


def flat(x, state, block, thread) -> np.ndarray:
    """A register's value for each of N threads."""
    return np.broadcast_to(x, state.shape)[block, thread]


def in_shared(i, state, space: str, address, mask) -> Places:
    """Where the addresses of the threads of the mask lie. `space`: as `space_of` says."""
    block, thread = np.nonzero(state.full(mask))
    found = flat(address, state, block, thread)
    if space == "generic":
        outside = memory.window_of(found) != 1
        if outside.any():
            n = int(np.argmax(outside))
            raise PTXError(
                f"the generic address {int(found[n]):#x} is not one of shared memory",
                instruction=i,
                thread=state.describe_thread(block[n], thread[n]),
            )
        found = found - memory.SHARED_WINDOW
    return Places(block, found, block, thread)


def within(i, state, kind: str, space, at: Places, width: int, align: int) -> np.ndarray:
    """bool (N,): which of these addresses of a space are in bounds and aligned. All of them,
    unless the run is tolerant: then the sink is told of the others."""
    wrong = space.check(at.address, None, width, align)
    if wrong is None:
        return np.ones(len(at), bool)
    if not state.tolerant:
        name = lambda n: at.thread_name(state, n)
        raise space.fault(at.address, wrong, width, align, i, name)
    address, mask = np.zeros(state.shape, np.int64), np.zeros(state.shape, bool)
    address[at.block[wrong], at.thread[wrong]] = at.address[wrong]
    mask[at.block[wrong], at.thread[wrong]] = True
    about = state.blocks, state.shape[1], state.steps
    state.sink(Fault(i, kind, space.name, width, align, address, mask, *about))
    return ~wrong
