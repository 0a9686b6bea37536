"""State spaces: bytes that know their allocations.

Every space is one flat array of bytes. Global memory starts its rows at 0 for everybody;
shared memory has a row for each block of the chunk, local memory one for each thread. An
address is an offset into the row, so that a gather is `bytes[row + address]`.

Memory that nobody wrote reads as 0xFF: NaN for floats, so a missing store shows.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..aliases import Array, Mask, Names
from ..errors import MemoryFault
from ..text.forms import DTYPES
from ..text.syntax import Instruction
from .patterns import Pattern

ALIGNMENT = 256  # of global allocations, as cudaMalloc gives at least
GUARD = 4096  # unallocated bytes around each of them
SHARED_WINDOW = 1 << 40  # where generic addresses of shared memory start
LOCAL_WINDOW = 2 << 40
PARAM_WINDOW = 3 << 40
FUNCTION_WINDOW = 4 << 40  # addresses of functions, which no load reaches
FUNCTION_STEP = 16
# An address of shared memory that has bit 31 names a block of the cluster by its rank, which
# begins at bit 24, as on a GPU. Others are one's own: those of variables are what they are without
# clusters.
RANK_SHIFT = 24
NAMED = 1 << 31

# of generic addresses: space, its number, where it starts
WINDOWS = tuple((name, n, n << 40) for n, name in enumerate(("global", "shared", "local", "param")))
STARTS = {"const": 0} | {name: start for name, _, start in WINDOWS}

UNSIGNED: dict[int, Any] = {size: DTYPES[f"b{8 * size}"] for size in (1, 2, 4, 8, 16)}


class Lying(np.ndarray):
    """An array that lies in the interpreter as a view of an array on a GPU does: as far behind a
    multiple of ALIGNMENT as behind the start of the array that it is a view of. Other arrays start
    on a multiple, whatever they are views of."""


def offset(array: Array) -> int:
    """Bytes from a multiple of ALIGNMENT to where an array begins in global memory."""
    if not isinstance(array, Lying):
        return 0
    return (array.ctypes.data - root(array).ctypes.data) % ALIGNMENT


def root(array: Array) -> Array:
    """The array that this one is a view of, directly or by way of others; else itself."""
    whole, base = array, array.base
    while base is not None:
        whole = base if isinstance(base, np.ndarray) else whole
        base = getattr(base, "base", None)
    return whole


def lead(array: Array, arguments: Iterable[Array]) -> Array:
    """What a kernel may read before the start of a view, as the pointer `x + 4` leads into x: the
    bytes of the array that it is a view of, from where another argument ends. A `Lying` view has
    none: it is what is checked to be read alone."""
    whole = root(array)
    if isinstance(array, Lying) or whole.dtype.hasobject or not whole.flags.forc:
        return np.empty(0, np.uint8)
    start = whole.ctypes.data
    held = np.asarray(whole).reshape(-1, order="A").view(np.uint8)
    before = held[: max(array.ctypes.data - start, 0)]
    if not before.size:  # as of a module's variables, of which there may be a thousand
        return before
    ends = (x.ctypes.data + x.nbytes - start for x in arguments)
    return before[max((end for end in ends if 0 < end <= before.size), default=0) :]


@dataclass(frozen=True)
class Allocation:
    """A stretch of bytes of a space that belongs together: an array, a variable, a frame."""

    name: str
    start: int
    size: int
    writeable: bool = True
    argument: int | None = None  # which argument of the kernel it is
    lead: int = 0  # bytes before the start that may be read too

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass
class Space:
    """`data`: flat uint8. `row`: first byte of each row, int64 (1, 1), (B, 1) or (B, T).
    `owner`: the block of the chunk whose row each thread reaches, (B, T), if not its own."""

    name: str
    data: Array
    row: Array
    allocations: list[Allocation]
    names: Callable[[str, Allocation, int], str | None] = lambda *_: None
    owner: Array | None = None
    views: dict[int, Array] = field(init=False)
    rows: dict[int, Array] = field(init=False)

    def __post_init__(self) -> None:
        self.views = {size: self.data.view(dtype) for size, dtype in UNSIGNED.items()}
        self.rows = {size: self.row >> shift for size, shift in _SHIFT.items()}
        self.know()

    def know(self) -> None:
        """To be called when the allocations change."""
        self.starts = [a.start for a in self.allocations]
        self.read_only = [a for a in self.allocations if not a.writeable]
        self._bounds: Any = None  # starts and ends as arrays, once they are needed

    def load(self, address: Array, mask: Mask, size: int, count: int) -> Any:
        """`count` values of `size` bytes from each address -> list of unsigned arrays.

        Addresses have been checked, or nobody uses what they give. With a mask, the arrays are
        flat, one element per thread."""
        if size * count > 16:  # rows start at multiples of 16
            half = count // 2
            later = self.load(address + half * size, mask, size, half)
            return self.load(address, mask, size, half) + later
        words = self.views[size].reshape(-1, count)
        # "clip" lets any address pass. Addresses of rows, each a block's, may be the same in all:
        if mask is None and address.shape[0] == 1 < len(self.row) and self.row.shape[1] == 1:
            index = address[0] >> _SHIFT[size * count]
            values = words.reshape(len(self.row), -1, count).take(index, axis=1, mode="clip")
        else:
            index = self._index(address, size * count)
            if mask is not None:
                (index,) = of_threads(mask, index)
            values = words.take(index, axis=0, mode="clip")
        return [values[..., n] for n in range(count)]

    def windows(self, pattern: Pattern, offset: int, size: int, count: int) -> list[Any] | None:
        """`count` elements of `size` bytes at each of the pattern's addresses plus an offset in
        each block, as that many views of several axes. None if loops do not run through them, or
        if one of them is out of bounds or misaligned."""
        low, high = pattern.low + offset, pattern.high + offset
        home = self.find(low)
        if pattern.nest is None or home is None or high + size * count > home.end:
            return None
        if (pattern.bits | offset) & size * count - 1 or self.row.shape[1] > 1:
            return None
        stride = self.data.size // len(self.row)
        first = int(pattern.address[0, 0]) + offset
        shape = (len(self.row), *(n for n, _ in pattern.nest))
        strides = (stride, *(step for _, step in pattern.nest))
        return [
            np.ndarray(shape, UNSIGNED[size], self.data, first + n * size, strides)
            for n in range(count)
        ]

    def store(self, address: Array, mask: Mask, values: Sequence[Array], size: int) -> None:
        """Of several threads that write one address, the last wins (PTX leaves it open)."""
        index, view = self._index(address, size), self.views[size]
        if mask is not None:
            index, *values = of_threads(mask, index, *values)
        for n, value in enumerate(values):
            if value.shape != index.shape:  # one value or one address for many
                index = np.broadcast_to(index, np.broadcast_shapes(index.shape, value.shape))
            view[n:][index] = value

    def would_change(self, address: Array, mask: Mask, values: Sequence[Array], size: int) -> bool:
        """Whether a store of these values leaves any byte different."""
        index, view = self._index(address, size), self.views[size]
        if mask is not None:
            index, *values = of_threads(mask, index, *values)
        return any((view[index + n] != value).any() for n, value in enumerate(values))

    def copy(self, source: Array, target: Array, mask: Mask, size: int, count: int) -> None:
        """`count` words of `size` bytes from one address of a row to another."""
        view = self.views[size]
        source, target = self._index(source, size), self._index(target, size)
        if mask is not None:
            source, target = of_threads(mask, source, target)
        for n in range(count):
            view[target + n] = view[source + n]

    def _index(self, address: Array, size: int) -> Any:
        index = address >> _SHIFT[size]
        return index + self.rows[size] if self.row.size > 1 else index

    def check(self, address: Array, mask: Mask, width: int, align: int, reads: bool = False) -> Any:
        """None if every access of `width` bytes lies in one allocation, or `reads` in its lead, and
        at a multiple of `align`; else where it does not, of the shape that address and mask
        broadcast to."""
        if mask is None:
            active = address
        elif address.shape == mask.shape:
            active = address[mask]
        else:
            active = np.broadcast_to(address, np.broadcast_shapes(address.shape, mask.shape))
            active = active[np.broadcast_to(mask, active.shape)]
        if active.size == 0:
            return None
        low, high = int(active.min()), int(active.max())
        home = self.find(low)
        inside = home is not None and high + width <= home.end
        if inside and not np.bitwise_or.reduce(active, axis=None) & align - 1:
            return None
        wrong = ((address & (align - 1)) != 0) | ~self._allocated(address, width, reads)
        if mask is not None:
            wrong = wrong & mask
        return wrong if wrong.any() else None

    def check_writeable(self, address: Array, mask: Mask, i: Instruction, name_of: Any) -> None:
        """Raise a MemoryFault for a store to a read-only allocation."""
        for a in self.read_only:
            hit = (address >= a.start) & (address < a.end) & (True if mask is None else mask)
            if hit.any():
                where = np.argwhere(hit)[0]
                bad = int(np.broadcast_to(address, hit.shape)[tuple(where)])
                text = f"store to {self.named(a, bad)}, which is read-only: pass a copy that may "
                raise MemoryFault(f"{text}be written", instruction=i, thread=name_of(*where))

    def find(self, address: int) -> Allocation | None:
        at = bisect.bisect_right(self.starts, address) - 1
        return self.allocations[at] if at >= 0 and address < self.allocations[at].end else None

    def _allocated(self, address: Array, width: int, reads: bool) -> Any:
        if not self.allocations:
            return np.zeros(address.shape, bool)
        if self._bounds is None:
            bounds = [(a.start, a.end, a.lead) for a in self.allocations]
            self._bounds = tuple(np.array(bounds).T)
        starts, ends, leads = self._bounds
        starts = starts - leads if reads else starts
        at = np.maximum(np.searchsorted(starts, address, "right") - 1, 0)
        return (address >= starts[at]) & (address + width <= ends[at])

    def fault(
        self, at: Array, wrong: Array, width: int, align: int, i: Any, thread: Any, whose: str = ""
    ) -> Any:
        """The MemoryFault of the first access, of those at these addresses, that `check` found
        wrong. i: the Instruction. thread: a function of where the first is, that names its thread.
        whose: memory it is, in words."""
        where = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        bad = int(np.broadcast_to(at, wrong.shape)[where])
        access, place = f"{width}-byte access to {self.name} memory", self.describe(bad)
        message = f"{access} out of bounds: {place}"
        if bad & (align - 1) and self.find(bad) is not None:
            message = f"misaligned {access} at {place}: the address must be a multiple of {align}"
        return MemoryFault(message + whose, instruction=i, thread=thread(*where))

    def describe(self, address: int) -> str:
        """An address in words: which allocation, and how far into or past it."""
        home = nearest(self.allocations, address)
        if home is None:
            return f"address {address:#x}; there is no {self.name} allocation"
        hint = "" if home.size or self.name != "shared" else "; a launch gives it some: shared_mem="
        return f"address {address:#x}, {distance(home, address, self.named(home, address))}{hint}"

    def named(self, home: Allocation, address: int) -> str:
        """What a reader calls the place, as far as `run` was told, or the allocation's name."""
        return self.names(self.name, home, address - home.start) or home.name


def of_threads(mask: Array, *values: Array) -> list[Array]:
    """What the threads of a mask have in each array, flat. A mask that is the same in every block,
    or an array that is, may have one row for all of them."""
    chosen, *every = np.broadcast_arrays(mask, *values)
    return [each[chosen] for each in every]


def constants(home: Space, variables: set[str]) -> Space:
    """The constant variables, which lie in global memory, as a space with bounds of its own."""
    constant = [a for a in home.allocations if a.name in variables]
    return Space("const", home.data, home.row, constant, home.names)


def nearest(allocations: Any, address: int) -> Allocation | None:
    """The allocation that holds the address or is closest to it; None if there are none."""
    return min(
        allocations, default=None, key=lambda a: max(a.start - address, address - a.end + 1, 0)
    )


def window_of(address: Array) -> Any:
    """Which of the WINDOWS a generic address lies in; a wild one counts as global."""
    window = address >> 40
    return np.where((window < 0) | (window > 3), 0, window)


def distance(home: Allocation, address: int, name: str | None = None) -> str:
    """How far an address is into or past an allocation, in words."""
    offset = address - home.start
    if offset < 0:
        place = f"{-offset} bytes before the start"
    elif offset < home.size:
        place = f"byte {offset}"
    else:
        place = f"{offset - home.size} bytes past the end"
    return f"{place} of {name or home.name} ({home.size} bytes)"


_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}


def global_space(
    buffers: list[tuple[str | None, int | None, Array, int]], names: Names
) -> tuple[Space, list[int]]:
    """Copy the buffers (a name, which argument it is, the array, unallocated bytes behind it) into
    one arena. One without a name is no allocation. Also returns where each one starts."""
    allocations, starts, end = [], [], GUARD
    arrays = [buffer for _, _, buffer, _ in buffers]
    leads = [lead(buffer, arrays) for buffer in arrays]
    for (name, argument, buffer, guard), before in zip(buffers, leads):
        least = end + guard - GUARD + before.size
        start = -(-least // ALIGNMENT) * ALIGNMENT + offset(buffer)
        starts.append(start)
        if name is not None:
            known = name, start, buffer.nbytes, buffer.flags.writeable, argument, before.size
            allocations.append(Allocation(*known))
        end = start + buffer.nbytes + guard
    data = np.full(-(-end // 16) * 16, 0xFF, np.uint8)
    for start, buffer, before in zip(starts, arrays, leads):
        data[start - before.size : start] = before
        data[start : start + buffer.nbytes] = buffer.reshape(-1).view(np.uint8)
    return Space("global", data, np.zeros((1, 1), np.int64), allocations, names), starts


def rowed_space(
    name: str, allocations: list[Allocation], size: int, rows: tuple[int, int], names: Names
) -> Space:
    """A space with one row of `size` bytes for each of rows[0] * rows[1] owners."""
    stride = -(-size // 16) * 16
    count = rows[0] * rows[1]
    row = (np.arange(count, dtype=np.int64) * stride).reshape(rows)
    return Space(name, np.full(max(count * stride, 16), 0xFF, np.uint8), row, allocations, names)


def lay_out(
    variables: Any, dynamic: int = 0, guard: int = 0, first: int = 0
) -> tuple[list[Allocation], int]:
    """Offsets for declared variables in order, from `first` on; an extern array takes the
    `dynamic` bytes at the end, on a 16-byte boundary as ptxas gives it. `guard` bytes between any
    two belong to nobody. Returns the allocations and the size of the row."""
    allocations, end = [], first
    for variable in sorted(variables, key=lambda v: v.size == 0):
        align = variable.align if variable.size else max(variable.align, 16)
        start = -(-end // align) * align
        size = variable.size or dynamic
        allocations.append(Allocation(variable.name, start, size))
        end = start + (size + guard if variable.size else 0)
    last = max((a.end for a in allocations), default=first)
    return allocations, max(last, end + dynamic)
