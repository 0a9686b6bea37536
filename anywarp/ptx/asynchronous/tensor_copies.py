"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: one thread copies a box of a tensor.

Into shared memory they report to mbarriers, and have read their source when they are issued; into
global memory they belong to a bulk group of the thread (see `proxy`). What of a box lies outside
of the tensor is filled, and not stored. Left out are im2col and the scattered rows of sm_100.
PTX ISA, chapter 9.7.9 (data movement: tensor copies).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..errors import PTXError
from ..memory import access, allocations, atomics
from ..memory.events import Fenced, Stretches
from ..memory.remote_shared import Places, in_space, within
from ..memory.swizzle import UNIT
from ..text import forms
from ..text.forms import match_modifiers, refuse
from ..text.syntax import Address, Instruction, Vector
from ..warps.warp import LANES, by_warp
from . import bulk, tensor_maps
from .bulk import Cargo, begin, operands_of, received, receivers, route, stretches
from .tensor_maps import BYTES, Tile, global_addresses, shared_addresses

SHARED_ALIGNMENT = 128  # bytes, of a box in shared memory
RANKS = {f"{n}d": n for n in range(1, tensor_maps.MAX_RANK + 1)}
SPACE_OF_WINDOW = {number: name for name, number, _ in allocations.WINDOWS}
WHOLE = frozenset(("u32", "s32", "u64", "s64"))
REDUCTIONS = {  # operation: types of elements
    "add": WHOLE - {"s64"} | {"f16", "bf16", "f32", "f64"},
    **dict.fromkeys(("min", "max"), WHOLE | {"f16", "bf16"}),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("and", "or", "xor"), WHOLE),
}


# -- what an instruction names ----------------------------------------------------------------


def words_of(i: Instruction, start: int) -> tuple[int, list[str]]:
    """The rank, and the modifiers after it. `start`: where the rank stands among them."""
    rank, *rest = i.modifiers[start:]
    refuse(rank not in RANKS, f".{rank}")
    return RANKS[rank], [word for word in rest if word != "tile"]


def box_of(i: Instruction, operand: Operand, rank: int, at: Site) -> Callable[..., Any]:
    """A function (state, issuers) -> for each tensor map that threads name: which of them do, the
    address of the tensor, what else the map says, and the coordinates (N, rank)."""
    tensor = isinstance(operand, Vector) and isinstance(operand.elements[0], Address)
    refuse(not tensor, "an operand that is no tensor")
    address_of = at.slots.address(operand.elements[0])
    coordinates = operand.elements[1].elements
    refuse(len(coordinates) != rank, f"{len(coordinates)} coordinates of {rank} dimensions")
    readers = [at.slots.reader(each, np.int32) for each in coordinates]

    def find(state: State, issuers: Places) -> Iterator[tuple[Array, int, Tile, Array]]:
        registers = state.registers
        columns = [issuers.values(read(registers)).astype(np.int64) for read in readers]
        corner = np.stack(columns, axis=1)
        address = issuers.values(address_of(registers))
        for map_address in np.unique(address):
            which = np.flatnonzero(address == map_address)
            start, tile = tensor_map(issuers[which], int(map_address))
            other = f"the tensor map is of {tile.rank} dimensions, the instruction of {rank}"
            issuers[which].require(np.bool_(tile.rank == rank), lambda _, other=other: other)
            check_corner(tile, corner[which], issuers[which])
            yield which, start, tile, corner[which]

    return find


def check_corner(tile: Tile, corner: Array, issuers: Places) -> None:
    """Raise a PTXError where an H200 stops with "illegal instruction": for a box that begins
    between multiples of UNIT bytes along the innermost dimension, be it inside of the tensor or
    not, and for one that is stored and begins before the tensor. Other coordinates may be any."""
    between = lambda n: (
        f"the innermost coordinate is {int(corner[n, 0])}, in elements of {tile.width} bytes: it "
        f"must be a multiple of {UNIT // tile.width}, so that the box begins at a multiple of "
        f"{UNIT} bytes along that dimension; a GPU stops here"
    )
    issuers.require(corner[:, 0] * tile.width % UNIT == 0, between)
    before = lambda n: (
        f"the box that is stored begins at the coordinates {tuple(corner[n].tolist())}: none may "
        "be negative, as it may in a copy into shared memory; a GPU stops here"
    )
    issuers.require((corner >= 0).all(1) | (bulk.GROUPED not in issuers.i.modifiers), before)


def tensor_map(issuers: Places, address: int) -> tuple[int, Tile]:
    """The tensor map at a generic address, which the threads name."""
    name = SPACE_OF_WINDOW[int(allocations.window_of(np.array(address)))]
    elsewhere = lambda _: (
        f"the tensor map lies in {name} memory, and must lie in that of parameters (as a "
        "const __grid_constant__ CUtensorMap), constant or global memory"
    )
    issuers.require(np.bool_(name not in ("shared", "local")), elsewhere)
    space, place = issuers.state.spaces[name], np.array([[address - allocations.STARTS[name]]])
    align = tensor_maps.ALIGNMENT
    wrong = space.check(place, None, BYTES, align)
    if wrong is not None:
        first_of = lambda *_: issuers.thread_name(0)
        raise space.fault(place, wrong, BYTES, align, issuers.i, first_of)
    first = int(place[0, 0])
    unpacked = tensor_maps.unpack(space.data[first : first + BYTES].tobytes())
    none = lambda _: (
        f"the {BYTES} bytes at {space.describe(first)} are no tensor map that a GPU takes: "
        "anywarp.TensorMap makes one"
    )
    issuers.require(np.bool_(unpacked is not None), none)
    return cast(tuple[int, Tile], unpacked)


# -- either way -------------------------------------------------------------------------------


def copy(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.tensor, either way."""
    rank, words = words_of(i, 3)
    to, source, rest = route(i, words)
    refuse(rest not in ([], [bulk.MULTICAST]), i)
    if to == "global":
        return store(i, at, rank, lambda tile: (f"u{tile.width}", None))
    refuse(source != "global", i)
    return load(i, at, rank, to)


def reduce(i: Instruction, at: Site) -> Execute:
    """cp.reduce.async.bulk.tensor: combined element by element with what is in the tensor."""
    rank, words = words_of(i, 4)
    name = next((word for word in words if word in REDUCTIONS), "")
    to, _, rest = route(i, [word for word in words if word != name])
    refuse(not name or to != "global" or rest, i)

    def operation(tile: Tile) -> Any:
        if tile.kind not in REDUCTIONS[name]:
            raise PTXError(f".{name} is not for elements of type .{tile.kind}", instruction=i)
        return atomics.combined(name, tile.kind, "global")

    return store(i, at, rank, operation)


def load(i: Instruction, at: Site, rank: int, to: str) -> Execute:
    """Copies from global memory, into one block or several of the cluster."""
    target, tensor, barrier, *ranks = operands_of(i, 3)
    find, boxes = receivers(i, at, to, target, barrier, ranks), box_of(i, tensor, rank, at)

    def execute(state: State, mask: Mask) -> None:
        targets, barriers, ranks = find(state, mask)
        for these, start, tile, corner in boxes(state, targets):
            address, inside = global_addresses(tile, start, corner)
            check_array(targets[these], address, inside, tile)
            named, extent = None if ranks is None else ranks[these], tile.extent
            about = barriers[these], named, extent, SHARED_ALIGNMENT
            which, into, reports = received(targets[these], *about)
            view, goal = (state.spaces[name].views[tile.width] for name in ("global", "shared"))
            held = np.full(address.shape, tensor_maps.outside(tile), view.dtype)
            held[inside] = view[address[inside] // tile.width]
            cargo = Cargo(view, goal, held, which, in_row(tile, into))
            reads = functools.partial(rows, address, inside, tile.width)
            writes = functools.partial(stretches, "shared", into, extent)
            begin(cargo, into, reports, tile.size, reads, writes)

    return execute


def store(i: Instruction, at: Site, rank: int, operation: Any) -> Execute:
    """Copies from shared memory. `operation(tile)`: the type of the elements, and what combines
    them or None."""
    tensor, source = operands_of(i, 2)
    boxes, source_of = box_of(i, tensor, rank, at), at.slots.address(source)

    def execute(state: State, mask: Mask) -> None:
        every = in_space(i, state, "shared::cta", source_of(state.registers), mask)
        for these, start, tile, corner in boxes(state, every):
            dtype, combine = operation(tile)
            shared, home, width = state.spaces["shared"], state.spaces["global"], tile.width
            fine = within("load", shared, every[these], tile.extent, SHARED_ALIGNMENT)
            sources = every[these[fine]]
            address, inside = global_addresses(tile, start, corner[fine])
            check_array(sources, address, inside, tile, stored=True)
            views = shared.data.view(dtype), home.data.view(dtype)
            held = np.empty(inside.shape, dtype)
            numbers, taken = np.arange(len(sources)), in_row(tile, sources)
            given = functools.partial(np.take, address // width, axis=0)
            cargo = Cargo(*views, held, numbers, given, taken, inside, combine)
            reads = functools.partial(part_of_box, tile, sources, inside)
            writes = functools.partial(rows, address, inside, width)
            begin(cargo, sources, None, 0, reads, writes)

    return execute


def in_row(tile: Tile, at: Places) -> Callable[[Array], Array]:
    """A function of numbers -> where the elements of boxes lie in the data of shared memory."""
    first = at.state.spaces["shared"].row[at.row, 0]
    return lambda numbers: (
        (shared_addresses(tile, at.address[numbers]) + first[numbers][:, None, None]) // tile.width
    )


def check_array(
    issuers: Places, address: Array, inside: Array, tile: Tile, stored: bool = False
) -> None:
    """Raise a MemoryFault for elements that no array has, which a map that was kept from another
    launch can name, and for a store to a read-only one."""
    i, home = issuers.i, issuers.state.spaces["global"]
    wrong = home.check(address, inside, tile.width, tile.width)
    name = lambda n, *_: issuers.thread_name(n)
    if wrong is not None:
        raise home.fault(address, wrong, tile.width, tile.width, i, name)
    if stored:
        home.check_writeable(address, inside, i, name)


def rows(address: Array, inside: Array, width: int, which: Array, operation: Array) -> Stretches:
    """The stretches of global memory that boxes reach: rows, and as one those that touch."""
    address, inside = address[which], inside[which]
    length = inside.sum(2)
    some = length > 0
    first = np.take_along_axis(address, inside.argmax(2)[:, :, None], 2)[:, :, 0][some]
    whose = np.broadcast_to(operation[:, None], some.shape)[some]
    begin, size = joined(whose, first, length[some] * width)
    return Stretches("global", whose[begin], np.zeros_like(begin), first[begin], size)


def joined(whose: Array, start: Array, size: Array) -> tuple[Array, Array]:
    """Of neighbouring stretches that touch the first ones, by number, and the bytes of all."""
    new = np.ones(len(start), bool)
    new[1:] = (whose[1:] != whose[:-1]) | (start[1:] != start[:-1] + size[:-1])
    begin = np.flatnonzero(new)
    return begin, np.add.reduceat(size, begin) if begin.size else size


def part_of_box(tile: Tile, at: Places, inside: Array, which: Array, operation: Array) -> Stretches:
    """The stretches of shared memory whose elements lie inside of the array."""
    if inside.all():
        return stretches("shared", at, tile.extent, which, operation)
    whose = np.broadcast_to(np.arange(len(at))[:, None, None], inside.shape)[inside]
    start = shared_addresses(tile, at.address)[inside]
    order = np.lexsort((start, whose))  # a swizzle changes their order
    whose, start = whose[order], start[order]
    begin, size = joined(whose, start, np.full(len(start), tile.width))
    return Stretches("shared", whose[begin], at.row[whose[begin]], start[begin], size)


# -- maps that a kernel changes ---------------------------------------------------------------


def replace(i: Instruction, at: Site) -> Execute:
    """tensormap.replace.tile.field{.space}.b1024.type [map], {which,} value: a store to a field."""
    refuse(i.modifiers[1] != "tile" or i.modifiers[-2] != "b1024", i)
    start, more = tensor_maps.FIELDS[i.modifiers[2]]
    kind, size = i.modifiers[-1], forms.bits(i.modifiers[-1]) // 8
    space, *_ = access.split_modifiers(i, {"replace", "tile", "b1024", i.modifiers[2]})
    target, *which, value = i.operands
    start += size * which[0].value if which else 0
    address_of, read = at.slots.address(target), at.slots.reader(value, forms.DTYPES[kind])

    def execute(state: State, mask: Mask) -> None:
        values = [read(state.registers) + more]
        whole = address_of(state.registers) + start
        for part in access.spaces_of(space, whole, mask, state):
            access.write(i, state, part, values, size)

    return execute


def publish(i: Instruction, at: Site) -> Execute:
    """tensormap.cp_fenceproxy [global], [shared], 128: lanes copy a map, 4 bytes each."""
    words = "cp_fenceproxy global shared::cta tensormap::generic release".split()
    match_modifiers(i, *words, "cta cluster gpu sys", "sync", "aligned")
    refuse(i.operands[2].value != BYTES, i)
    target_of, source_of = (at.slots.address(each) for each in i.operands[:2])

    def execute(state: State, mask: Mask) -> None:
        whole = np.repeat(by_warp(state.full(mask), state).all(-1), LANES, 1)[:, : state.shape[1]]
        state.require(whole, mask, i, f"{i.opcode} needs all {LANES} lanes of a warp")
        lane = np.arange(state.shape[1])[None] % LANES * 4
        source, target = (find(state.registers) + lane for find in (source_of, target_of))
        shared = state.spaces["shared"]
        part = access.reach(i, state, "load", (shared, source, mask), 4)
        values = shared.load(source, None, 4, 1)
        access.write(i, state, (state.spaces["global"], target, part), values, 4)
        state.tell(Fenced, i, mask)

    return execute


TENSORS = {"cp.async.bulk.tensor": copy, "cp.reduce.async.bulk.tensor": reduce}
TENSORS |= {"tensormap.replace": replace, "tensormap.cp_fenceproxy": publish}
