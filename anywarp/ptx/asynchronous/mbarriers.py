"""mbarrier objects: barriers in shared memory that count arrivals and bytes.

An object is 8 bytes of shared memory. A phase of it is over when no arrivals are pending and no
bytes are missing; the next one begins then, in which as many arrivals are pending as are expected.

    bits 0-19 expected arrivals, 20-39 pending arrivals, 40-60 bytes missing (signed: bytes can be
    there before somebody expects them), 61 parity of the phase, 62-63 what no other memory has

PTX leaves the layout open. A state (of mbarrier.arrive) is what the object was before.

Checked on an H200, where PTX says nothing of it:
- A wait for a parity takes the lowest bit of its operand, so that a running number of phases will
  do; so it does here.
- 0 arrivals change nothing, and an object that mbarrier.init has not made is used as its bytes
  say; here both are errors, because they are mistakes in a kernel.
- More arrivals than are pending, and more bytes than can be counted, end the kernel; here too.
PTX ISA, chapter 9.7.13.15 (mbarrier).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..aliases import Array
from ..memory.events import MemoryBarrier
from ..memory.remote_shared import Places

MOST = (1 << 20) - 1  # arrivals, and bytes either way
MARK = np.uint64(0b10 << 62)
GONE = np.uint64(0)  # after mbarrier.inval


@dataclass(frozen=True)
class Objects:
    """What N words hold. int64 (N,) arrays."""

    parity: Array  # of the current phase
    pending: Array
    expected: Array
    missing: Array  # bytes

    def pack(self) -> Array:
        fields = (self.expected, 0), (self.pending, 20), (self.missing & 0x1FFFFF, 40)
        word = np.full(self.parity.shape, MARK)
        for value, shift in (*fields, (self.parity, 61)):
            word |= value.astype(np.uint64) << np.uint64(shift)
        return word


def unpack(word: Array) -> Objects:
    """The objects in uint64 words; what they hold must be objects (see `is_object`)."""
    field = lambda shift, bits: word.astype(np.int64) >> shift & (1 << bits) - 1
    missing = (field(40, 21) ^ 1 << 20) - (1 << 20)  # with its sign
    return Objects(parity(word), field(20, 20), field(0, 20), missing)


def is_object(word: Array) -> Array:
    """bool (N,): which words mbarrier.init has made."""
    return word >> np.uint64(62) == MARK >> np.uint64(62)


def _index(at: Places) -> Array:
    """Where the objects lie in the 64-bit words of shared memory."""
    return at.state.spaces["shared"].row[at.row, 0] + at.address >> 3


def look(at: Places) -> Array:
    """The words at these places. Raises a PTXError where there is no object."""
    word = at.state.spaces["shared"].views[8][_index(at)]
    why = "is not initialised: mbarrier.init comes first"
    require(is_object(word), at, lambda n: why)
    return word


def write(at: Places, word: Any) -> None:
    """Store words at these places."""
    at.state.spaces["shared"].views[8][_index(at)] = word
    at.state.changed = True


def parity(word: Array) -> Array:
    """The parities of the current phases of the objects in uint64 words."""
    return (word >> np.uint64(61)).astype(np.int64) & 1


def require(right: Array, at: Places, why: Any) -> None:
    """Raise a PTXError about the first object n that is not right: `why(n)` says what it is."""

    def say(n: Any) -> Any:
        where = at.state.spaces["shared"].describe(int(at.address[n]))
        return f"the mbarrier at {where}{at.whose(n)}, {why(n)}"

    at.require(right, say)


def tell(what: str, at: Places, count: Any, thread: Any = None) -> None:
    """`thread`: who does it, if not the threads that name the places."""
    if at.state.sink is not None and len(at):
        count = np.broadcast_to(np.asarray(count, np.int64), at.row.shape)
        thread = at.thread if thread is None else np.broadcast_to(thread, at.row.shape)
        at.state.tell(MemoryBarrier, at.i, what, at.row, at.address, at.block, thread, count)


def initialise(at: Places, count: Array) -> None:
    """Begin the first phase, in which so many arrivals are expected."""
    check_range(at, count, "an mbarrier expects")
    nothing = np.zeros_like(count)
    write(at, Objects(nothing, count, count, nothing).pack())
    tell("init", at, count)


def invalidate(at: Places) -> None:
    """End the objects at these places. Raises a PTXError where there is none."""
    look(at)
    write(at, GONE)
    tell("inval", at, 0)


def check_range(at: Places, count: Array, what: str) -> None:
    """Raise a PTXError for counts of arrivals that an object cannot hold."""
    say = lambda n: f"{what} 1 to {MOST} arrivals, not {count[n]}"
    at.require((count >= 1) & (count <= MOST), say)


def arrive(
    at: Places, count: Array, size: Array | None = None, drop: bool = False, completes: bool = True
) -> Array:
    """Arrivals of N threads, `count` each, in the order of the threads; returns the state that
    each found. `size`: bytes that each expects before it arrives. `drop`: as many arrivals fewer
    are expected from the next phase on. Not `completes`: the phase must not end with them.

    One round serves all threads that arrive in one phase of their object, and tells of them before
    that is over. If some are left for the next phase, it is open who was first: then it tells
    afterwards, since whoever waits for the end of the phase can rely on none of them."""
    check_range(at, count, "a thread may make")
    size_ = np.zeros(len(at), np.int64) if size is None else size

    def announce(threads: Any) -> None:
        if size is not None:
            tell("expect", at[threads], size[threads])
        tell("arrive", at[threads], count[threads])

    states = np.zeros(len(at), np.uint64)
    left = np.arange(len(at))
    while left.size:
        here = at[left]
        _, first, which = np.unique(here.key, return_index=True, return_inverse=True)
        old = unpack(look(here[first]))
        order = np.argsort(which, kind="stable")
        total = np.cumsum(count[left][order])
        before = np.empty(left.size, np.int64)  # arrivals earlier in this round, at this object
        before[order] = total - count[left][order]
        before -= before[first][which]  # of objects before it
        fits = before + count[left] <= old.pending[which]
        too_many = functools.partial(beyond, old, count[left[first]])
        require(fits[first], here[first], too_many)
        of, threads = which[fits], left[fits]
        sure = ~np.isin(of, which[~fits])
        announce(threads[sure])
        states[threads] = Objects(
            old.parity[of], old.pending[of] - before[fits], old.expected[of], old.missing[of]
        ).pack()
        arrivals = np.bincount(of, count[threads], len(first)).astype(np.int64)
        missing = old.missing + np.bincount(of, size_[threads], len(first)).astype(np.int64)
        expected = old.expected - arrivals * drop
        new = Objects(old.parity, old.pending - arrivals, expected, missing)
        put(here[first], new, completes)
        announce(threads[~sure])
        left = left[~fits]
    return states


def beyond(old: Objects, count: Array, n: int) -> str:
    """What is wrong with so many arrivals at the nth object."""
    bytes_ = f", and {old.missing[n]} bytes are missing" if old.missing[n] else ""
    return (
        f"gets {count[n]} arrivals when {old.pending[n]} are pending in its phase{bytes_}: there "
        "would be fewer than none"
    )


def change(at: Places, arrivals: int, size: Array) -> None:
    """Of each thread so many more arrivals are pending, and so many more bytes missing."""
    _, first, which = np.unique(at.key, return_index=True, return_inverse=True)
    old = unpack(look(at[first]))
    pending = old.pending + arrivals * np.bincount(which)
    missing = old.missing + np.bincount(which, size, len(first)).astype(np.int64)
    why = lambda n: f"cannot await {pending[n]} arrivals: at most {MOST}"
    require(pending <= MOST, at[first], why)
    put(at[first], Objects(old.parity, pending, old.expected, missing))


def expect(at: Places, size: Array) -> None:
    """More bytes are missing in the current phase."""
    tell("expect", at, size)
    change(at, 0, size)


def complete(at: Places, size: Array) -> None:
    """Bytes are there: what an operation reports."""
    tell("complete", at, size, -1)
    change(at, 0, -size)


def put(at: Places, new: Objects, completes: bool = True) -> None:
    """Store what objects have become; where nothing is left of a phase, the next one begins."""
    why = lambda n: f"cannot miss {new.missing[n]} bytes: at most {MOST}"
    require(np.abs(new.missing) <= MOST, at, why)
    over = (new.pending == 0) & (new.missing == 0)
    why = lambda n: "is completed by an arrival with .noComplete"
    require(~over | completes, at, why)
    pending = np.where(over, new.expected, new.pending)
    write(at, Objects(new.parity ^ over, pending, new.expected, new.missing).pack())
    ended = at[over]
    ended = replace(ended, block=ended.row)
    tell("phase", ended, new.parity[over], -1)


def wanted(at: Places, given: Array, by_parity: bool) -> Array:
    """The parities of the phases that threads wait for, by what they give: states, or
    numbers of which the lowest bit is the parity."""
    if by_parity:
        return given.astype(np.int64) & 1
    why = lambda n: f"is asked for {int(given[n]):#x}: no mbarrier.arrive gave this state"
    require(is_object(given), at, why)
    return parity(given)


def stuck(at: Places) -> str:
    """What to say when nobody is left who could end the phase that the first thread waits for."""
    held = unpack(look(at[:1]))
    where = at.state.spaces["shared"].describe(int(at.address[0]))
    threads, missing = int((at.key == at.key[0]).sum()), int(held.missing[0])
    who = f"{threads} threads wait" if threads > 1 else "a thread waits"
    bytes_ = f"{missing} bytes are missing"
    if missing < 0:
        bytes_ = f"{-missing} bytes have come that nobody expected"
    return (
        f"{who} for the end of the phase of parity {held.parity[0]} of the mbarrier at {where}: "
        f"{held.pending[0]} of {held.expected[0]} arrivals are pending and "
        f"{bytes_}, and nobody is left to end it"
    )
