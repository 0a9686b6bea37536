"""Functions that a GPU's driver brings: printf, assert, malloc and free.

Each is a function `(i, state, mask, sources, returned)`, with functions that give the addresses of
the call's arguments and results in the memory of the call, and runs at once.
CUDA C++ Programming Guide: "Formatted Output", "Assertion", "Dynamic Global Memory Allocation".
"""

from __future__ import annotations

import bisect
import sys
from typing import Any

import numpy as np

from ..aliases import Mask, Readers, State
from ..errors import MemoryFault, PTXError
from ..memory.access import spaces_of
from ..memory.allocations import Allocation
from ..memory.events import Heaped, Passed
from ..text.syntax import Instruction
from .mathematics import MATHEMATICS, argument, give
from .printf import formatted

HEAP = 8 << 20  # bytes that malloc gives out at most, the default of cudaLimitMallocHeapSize


class ThreadMemory:
    """Bytes and strings at generic addresses, as one thread sees them."""

    def __init__(self, state: State, i: Instruction, b: int, t: int) -> None:
        self.state, self.i, self.b, self.t = state, i, b, t
        self.here = np.zeros(state.shape, bool)
        self.here[b, t] = True

    def place(self, address: int) -> Any:
        """(space, offset, first byte of the row) of a generic address."""
        generic = np.full((1, 1), address)
        [(space, offset, _)] = spaces_of("generic", generic, self.here, self.state)
        both = (np.broadcast_to(x, self.state.shape)[self.b, self.t] for x in (offset, space.row))
        return space, *map(int, both)

    def bytes_at(self, address: int, size: int) -> bytes:
        space, offset, row = self.place(address)
        home = space.find(offset)
        if home is None or offset + size > home.end:
            what = f"printf reads {size} bytes of {space.name} memory out of bounds: "
            thread = self.state.describe_thread(self.b, self.t)
            raise MemoryFault(what + space.describe(offset), instruction=self.i, thread=thread)
        if space.name == "local":
            self.state.tell(Passed, self.i, size, np.full((1, 1), offset), None, self.here)
        return space.data[row + offset : row + offset + size].tobytes()

    def string_at(self, address: int) -> str:
        space, offset, _ = self.place(address)
        home = space.find(offset)
        data = self.bytes_at(address, home.end - offset if home else 1)
        return data.partition(b"\0")[0].decode("utf-8", "replace")


class Printer:
    """Collects what threads print, and writes it block after block, each in the order of the
    run: threads that print together in the order of their numbers."""

    def __init__(self, write: Any = None) -> None:
        self.write = write
        self.lines: list[tuple[int, str]] = []

    def flush(self) -> None:
        text = "".join(line for _, line in sorted(self.lines, key=lambda line: line[0]))
        self.lines.clear()
        if text:
            (self.write or sys.stdout.write)(text)


def vprintf(i: Instruction, state: State, mask: Mask, sources: Readers, returned: Readers) -> None:
    """printf(format, arguments): prints in the order of threads, returns how many values."""
    template = argument(state, sources[0], 8)
    values = argument(state, sources[1], 8)
    count = np.zeros(state.shape, np.uint32)
    for b, t in np.argwhere(state.full(mask)).tolist():
        reader = ThreadMemory(state, i, b, t)
        pattern = reader.string_at(int(template[b, t]))
        text = formatted(pattern, int(values[b, t]), reader.bytes_at, reader.string_at)
        state.launch.printer.lines.append((int(state.blocks[b]), text))
        count[b, t] = pattern.replace("%%", "").count("%")
    if returned:
        give(state, returned[0], count, mask)


def assertfail(
    i: Instruction, state: State, mask: Mask, sources: Readers, returned: Readers
) -> None:
    """What assert(…) calls: (expression, file, line, function, size of a character)."""
    b, t = np.argwhere(state.full(mask))[0].tolist()
    reader = ThreadMemory(state, i, b, t)
    given = [int(argument(state, x, size)[b, t]) for x, size in zip(sources, (8, 8, 4, 8))]
    expression, file, function = (reader.string_at(given[n]) for n in (0, 1, 3))
    what = f"assertion `{expression}` failed at {file}:{given[2]} in {function}"
    raise PTXError(what, instruction=i, thread=state.describe_thread(b, t))


class Heap:
    """malloc and free in a stretch of global memory: behind the last block, or else where the
    first gap is wide enough."""

    def __init__(self, start: int, size: int) -> None:
        self.start, self.end = start, start + size
        self.blocks: list[Allocation] = []  # in order

    def take(self, size: int) -> Allocation | None:
        n = len(self.blocks)
        at = behind(self.blocks[-1]) if self.blocks else self.start
        if at + size > self.end:
            starts = [self.start, *map(behind, self.blocks)]
            gaps = enumerate(zip(starts, self.blocks))
            n, at = next(((n, at) for n, (at, b) in gaps if at + size <= b.start), (0, self.end))
        if at + size > self.end:
            return None
        block = Allocation("memory from malloc", at, size)
        self.blocks.insert(n, block)
        return block


def behind(block: Allocation) -> int:
    """Where another block may begin, at a multiple of 16 and not at once."""
    return -(-(block.end + 16) // 16) * 16


def tell(state: State, block: Allocation, freed: bool) -> None:
    """Tell the sink that malloc has given a block, or free taken it back."""
    if state.sink is not None:
        state.sink(Heaped(block, freed, state.blocks))


def malloc(i: Instruction, state: State, mask: Mask, sources: Readers, returned: Readers) -> None:
    """malloc(size): an address in global memory, 0 where the heap is full."""
    size, starts = argument(state, sources[0], 8), np.zeros(state.shape, np.uint64)
    home, heap = state.spaces["global"], state.launch.heap
    for b, t in np.argwhere(state.full(mask)).tolist():
        block = heap.take(max(int(size[b, t]), 1))
        if block is not None:  # else null, as on a GPU
            starts[b, t] = block.start
            home.data[block.start : block.end] = 0xFF
            bisect.insort(home.allocations, block, key=lambda a: a.start)
            tell(state, block, False)
    home.know()
    give(state, returned[0], starts, mask)


def free(i: Instruction, state: State, mask: Mask, sources: Readers, returned: Readers) -> None:
    """free(address): raises MemoryFault for what malloc has not given."""
    address = argument(state, sources[0], 8)
    home, heap = state.spaces["global"], state.launch.heap
    for b, t in np.argwhere(state.full(mask)).tolist():
        start = int(address[b, t])
        block = next((x for x in heap.blocks if x.start == start), None)
        if block is None and start:
            why = "which malloc did not give or which has been freed"
            what, thread = f"free of {home.describe(start)}, {why}", state.describe_thread(b, t)
            raise MemoryFault(what, instruction=i, thread=thread)
        if block is not None:
            heap.blocks.remove(block)
            home.allocations.remove(block)
            tell(state, block, True)
    home.know()


LIBRARY = {"vprintf": vprintf, "__assertfail": assertfail, "malloc": malloc, "free": free}
LIBRARY |= MATHEMATICS
NEEDS_HEAP = {"malloc", "free"}
