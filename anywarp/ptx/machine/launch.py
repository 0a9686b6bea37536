"""A launch: its sizes and arguments are checked, and everything gets its place in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..aliases import Array, Extent, Names
from ..asynchronous.tensor_maps import Mapped, memory_of
from ..calls.library import HEAP, Heap
from ..memory import allocations
from ..memory.clusters import Cluster, cluster_of
from ..memory.textures import HANDLE, Held, Image
from ..text.syntax import Entry, Module

MAX_THREADS = 1024  # of a block, on every GPU to date
# what a cooperative launch gives grid.sync(), as cooperative_groups/details/driver_abi.h reads it:
# 4 bytes that nobody uses, and the barrier's 4
WORKSPACE, WORKSPACE_BYTES = "the barrier of the grid", 8
FAR, APART = 1 << 20, 256  # bytes between the arrays of a tolerant run: global, other spaces


@dataclass
class Statics:
    """What outlives a launch: the module's variables, by name as bytes (uint8), and the heap of
    malloc. Pass the same one to each `run` to keep them; change `variables` to set one."""

    variables: dict[str, Array]
    heap: Heap | None = None
    heap_bytes: Array | None = None
    resolved: bool = field(default=False, repr=False)  # addresses have been filled in


def statics(module: Module | Entry) -> Statics:
    """The variables in global and constant memory, as they are initialised."""
    held = (v for v in module.variables if v.space in ("global", "const"))
    data = {v.name: bytearray(v.data.ljust(v.size, b"\0")) for v in held}
    return Statics({name: np.frombuffer(each, np.uint8) for name, each in data.items()})


def extent(name: str, size: Any) -> Extent:
    """1 to 3 ints -> 3."""
    size = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    if not 1 <= len(size) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in size):
        raise ValueError(f"{name} must be 1 to 3 positive integers, not {size}")
    x, y, z = (int(n) for n in (*size, 1, 1)[:3])
    return x, y, z


def check_launch(entry: Entry, grid: Extent, block: Extent, args: Sequence[Any]) -> Cluster:
    """Its clusters. Raises ValueError for a launch that a GPU would refuse; what it may have of
    shared memory `anywarp.limits` says."""
    threads = block[0] * block[1] * block[2]
    limit = MAX_THREADS
    for name in ("maxntid", "reqntid"):
        if name in entry.attributes:
            limit = min(limit, int(np.prod(entry.attributes[name])))
    if threads > limit:
        raise ValueError(
            f"a block of {threads} threads is more than the {limit} that "
            f"{entry.name} may be launched with"
        )
    if len(args) != len(entry.params):
        raise ValueError(f"{entry.name} takes {len(entry.params)} arguments, {len(args)} given")
    for n, value in enumerate(map(memory_of, args)):
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            raise ValueError(f"argument {n} of {entry.name} is not C-contiguous: pass a copy")
    return cluster_of(entry, grid)


@dataclass
class Global:
    """Global memory, laid out: `starts` has the address of each argument that is an array and
    of each module variable; `kept` the arrays to write back to."""

    space: allocations.Space
    starts: dict[int | str, int]
    kept: list[tuple[Array, int]]
    heap: Heap | None


def place(
    entry: Entry, args: Any, static: Statics, heap: bool, cooperative: bool, gap: int, names: Names
) -> Global:
    """Module variables come first, so that their addresses do not depend on the arguments; then
    the heap and the grid's workspace, if there are any, and the arguments, each before a gap."""
    guarded = allocations.GUARD
    buffers: list[Any] = [(name, None, x, guarded) for name, x in static.variables.items()]
    if heap and static.heap_bytes is None:
        static.heap_bytes = np.full(HEAP, 0xFF, np.uint8)
    if static.heap_bytes is not None:
        buffers.append((None, None, static.heap_bytes, allocations.GUARD))
    if cooperative:
        buffers.append((WORKSPACE, None, np.zeros(WORKSPACE_BYTES, np.uint8), guarded))
    index: dict[Any, int] = {}
    require_apart(args, [f"argument {n} of {entry.name}" for n in range(len(args))])
    for n, (param, value) in enumerate(zip(entry.params, map(memory_of, args))):
        if not isinstance(value, np.ndarray):
            continue
        key = place_of(value) if value.nbytes else id(value)
        if key not in index:
            index[key] = len(buffers)
            buffers.append((f"argument {n} ({param.name})", n, value, gap))
        elif value.flags.writeable:  # what came first may be a view that is not
            buffers[index[key]] = (*buffers[index[key]][:2], value, gap)
        index[n] = index[key]
    space, starts = allocations.global_space(buffers, names)
    places: dict[Any, int] = {n: starts[index[n]] for n in range(len(args)) if n in index}
    places |= {name: start for (name, *_), start in zip(buffers, starts) if name is not None}
    if static.heap_bytes is not None:
        start = starts[len(static.variables)]
        static.heap = static.heap or Heap(start, HEAP)
        space.allocations += static.heap.blocks
        space.allocations.sort(key=lambda a: a.start)
        space.know()
    kept = [(b[2], start) for b, start in zip(buffers, starts) if b[2].flags.writeable]
    return Global(space, places, kept, static.heap)


def place_of(array: Array) -> tuple[Any, ...]:
    """What two arguments share if they are one array: where it lies and what it is."""
    return array.__array_interface__["data"][0], array.shape, array.dtype.str


def require_apart(values: Sequence[Any], called: Sequence[str]) -> None:
    """Raise ValueError for NumPy arrays that overlap in part, unless both are read-only: each is
    copied, and copied back."""
    held = enumerate(map(memory_of, values))
    arrays = [(n, x) for n, x in held if isinstance(x, np.ndarray) and x.nbytes]
    for position, (i, x) in enumerate(arrays):
        for j, y in arrays[position + 1 :]:
            written = x.flags.writeable or y.flags.writeable
            if not written or not np.may_share_memory(x, y):
                continue
            if isinstance(values[i], Image) != isinstance(values[j], Image):
                raise ValueError(
                    f"{called[i]} and {called[j]} are a texture or surface and an array with the "
                    "same memory, and neither sees what is stored to the other: pass a copy"
                )
            if place_of(x) != place_of(y):
                raise ValueError(
                    f"{called[i]} and {called[j]} overlap in memory: pass the same array or a copy"
                )


def images(args: Sequence[Any], starts: dict[Any, int]) -> dict[int, Held]:
    """Textures and surfaces among the arguments, by the handles that stand for them."""
    return {HANDLE + n: Held(x, starts[n]) for n, x in enumerate(args) if isinstance(x, Image)}


def write_back(memory_: Global) -> None:
    """Copy what the kernel stored back into the arguments' arrays."""
    for array, start in memory_.kept:
        array.reshape(-1).view(np.uint8)[:] = memory_.space.data[start : start + array.nbytes]


def resolve(entry: Entry, static: Statics, symbols: dict[Any, Any], data: Array) -> None:
    """Fill in the addresses that initialise variables, once."""
    if static.resolved:
        return
    static.resolved = True
    for variable in entry.variables:
        for r in variable.relocations:
            if r.symbol not in symbols:
                continue  # of a function that is only declared, or of a shared variable
            value = (symbols[r.symbol] + r.addend) & r.mask
            value >>= (r.mask & -r.mask).bit_length() - 1
            at = symbols[variable.name] + r.offset
            data[at : at + r.size] = np.frombuffer(value.to_bytes(8, "little")[: r.size], np.uint8)


def pack_params(entry: Entry, args: Sequence[Any], addresses: dict[Any, Any]) -> bytes:
    """The parameter space: every value at its offset."""
    size = max((p.offset + p.size for p in entry.params), default=0)
    data = bytearray(-(-max(size, 1) // 16) * 16)
    for n, (param, value) in enumerate(zip(entry.params, args)):
        if isinstance(value, Mapped):
            value = value.tile.packed(addresses[n] + value.offset)
        elif isinstance(value, Image):
            value = np.uint64(HANDLE + n)
        elif n in addresses:
            value = np.uint64(addresses[n])
        raw = bytes(value) if isinstance(value, (bytes, bytearray)) else np.asarray(value).tobytes()
        if len(raw) != param.size:
            raise ValueError(
                f"argument {n} of {entry.name} has {len(raw)} bytes; the parameter "
                f"is .{param.type} with {param.size}"
            )
        data[param.offset : param.offset + param.size] = raw
    return bytes(data)
