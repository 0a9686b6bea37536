"""Find memory and barrier faults of a kernel that a lucky run hides.

All threads of a chunk run in lockstep in the interpreter, so a race does not show as a wrong
result. It shows in shadow memory: who touched each cell last, and whether a barrier came in
between (see `shadow`). The kinds of findings are those of NVIDIA's compute-sanitizer (memcheck,
initcheck, racecheck, synccheck), with these choices:

- An atomic or strong access (atom, red, relaxed, acquire, release; volatile in global memory)
  does not race with another. Fences together with such accesses order threads (see `fences`).
- A plain load whose value goes to a compare-and-swap, as what that expects, counts as strong.
- Threads that write the value which is there already, or the same one in one instruction, do
  not race; racecheck gives that its lowest level, which it does not print unless asked to.
- Lanes of a warp are ordered by __syncwarp, and by the shuffles, votes and reductions that wait
  for them; without, they race like other threads.
- A barrier of the block is to be reached by all its threads, at one place, and a shuffle or vote
  by all lanes of its member mask. Threads that have left the kernel need not come, unless they
  passed the place by (see `convergence`).
- Bytes that nobody wrote may be copied together with others, as the padding of a struct is, and
  count as written then. They may be loaded and computed with, such as the rest of a tile that is
  filled in part, if nothing comes of it; and a lane may shuffle from one that is not there, if it
  stores nothing made of it (see `undefined`).
- Blocks are not ordered, whatever the order in which they run, but those of a cluster by its
  barrier and by memory barriers. The shared memory of another block is there from a barrier of the
  cluster on, and as long as the block is sure to be told of the access (see `cluster_faults`).
- Copies and products of warpgroups run on their own, from when they are issued to when a thread
  has waited for them; then they are done for those whom it tells (see `asynchronous`). A memory
  barrier orders threads as other barriers do, and has to get the bytes that it expects (see
  `mbarrier_faults`). What ordinary stores have written is for wgmma and bulk copies to read once
  the thread that stored has passed a fence.proxy.async.
- The registers of wgmma are not to be touched before wgmma.wait_group (see `warpgroup_faults`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ptx.asynchronous.tensor_maps import memory_of
from ..ptx.errors import Deadlock, PTXError, StepLimit
from ..ptx.machine.machine import run
from ..ptx.text.syntax import Entry, Position
from .faults import Checker
from .findings import Finding


def sanitize(
    entry: Entry,
    grid: Sequence[int] | int,
    block: Sequence[int] | int,
    args: Sequence[Any],
    *,
    shared_mem: int = 0,
    uninitialised: Collection[int] | Mapping[int, np.ndarray] = (),
    source: str = "",
    running: Mapping[str, Any] | None = None,
) -> tuple[Finding, ...]:
    """Run an entry as `run` does, and report its faults; none for a correct kernel.

    uninitialised: which arguments, by index, are arrays whose contents nobody has written yet,
    so that reading an element before the kernel writes it is a fault. If it is a mapping, an array
    of bool for each of these says which of its bytes have been written, and is brought up to date:
    pass it on to the next launch. source: the CUDA text,
    from which findings take the names and shapes of arrays. running: what else `run` takes, such
    as step_limit. Arrays are written, as by `run`.

    Raises what `run` raises before a kernel starts, TypeError or ValueError for wrong
    `uninitialised`, and PTXError for what stops a run that has no findings.
    """
    numbers = check_uninitialised(uninitialised, args)
    unwritten: dict[int, np.ndarray | None] = dict.fromkeys(numbers)
    if isinstance(uninitialised, Mapping):
        unwritten = {n: uninitialised[n] for n in numbers if memory_of(args[n]).nbytes}
    checker = Checker(args, unwritten, source)
    try:
        heard = dict(sink=checker, tolerant=True, **(running or {}))
        run(entry, grid, block, args, shared_mem=shared_mem, **heard)
        checker.end()
    except PTXError as error:
        left_out = {"out of bounds", "misaligned"} & {finding.kind for finding in checker.findings}
        if is_of_a_barrier(error) and not (left_out and isinstance(error, StepLimit)):
            text = str(error.args[0]).partition("\n")[0]
            here = error.source or Position("PTX", error.line or 0)
            checker.findings.add(Finding("barrier", text, here, error.thread))
        elif not checker.findings:  # a trap, or an endless loop, maybe for what was found before
            raise
    checker.tell_written()
    return tuple(checker.findings)


def is_of_a_barrier(error: PTXError) -> bool:
    """Whether a run stopped since threads wait for ever at a barrier, or for what was wrong about
    an mbarrier. Other endless loops, which are Deadlocks too, are no fault of a barrier."""
    if "mbarrier" in str(error.args[0]).partition("\n")[0]:
        return True
    return isinstance(error, Deadlock) and not isinstance(error, StepLimit)


def check_uninitialised(uninitialised: Iterable[Any], args: Sequence[Any]) -> set[int]:
    """The arguments that count as not written, by index. Raises TypeError or ValueError for what
    is no index of an array, and for a mask that does not fit its array."""
    unwritten = set()
    for n in uninitialised:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"uninitialised takes indices of arguments, not {n!r}")
        if not 0 <= n < len(args):
            raise ValueError(f"uninitialised: there is no argument {n}, only 0 to {len(args) - 1}")
        array = memory_of(args[int(n)])
        if not isinstance(array, np.ndarray):
            raise ValueError(f"uninitialised: argument {n} is not an array")
        if isinstance(uninitialised, Mapping):
            mask = uninitialised[n]
            is_array = isinstance(mask, np.ndarray)
            if not is_array or (mask.dtype, mask.shape) != (np.dtype(bool), (array.nbytes,)):
                there = f"one of {mask.dtype} of shape {mask.shape}" if is_array else repr(mask)
                raise ValueError(
                    f"uninitialised[{n}] must be an array of bool with one for each of the "
                    f"argument's {array.nbytes} bytes, not {there}"
                )
        unwritten.add(int(n))
    return unwritten
