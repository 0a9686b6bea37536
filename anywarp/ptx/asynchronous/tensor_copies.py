"""cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: one thread copies a box of a tensor.

Into shared memory they report to mbarriers, and have read their source when they are issued; into
global memory they belong to a bulk group of the thread (see `proxy`). What of a box lies outside
of the tensor is filled, and not stored. Left out are im2col and the scattered rows of sm_100.
PTX ISA, chapter 9.7.9 (data movement: tensor copies).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..errors import PTXError
from ..memory import allocations, atomics
from ..memory.allocations import Space
from ..memory.events import Started, Stretches
from ..memory.remote_shared import Places, in_rows, in_shared, require_together, spread, within
from ..memory.swizzle import UNIT
from ..text.forms import DTYPES, refuse
from ..text.syntax import Address, Instruction, Vector
from .bulk import GROUPED, HINT, INTO_SHARED, MULTICAST
from .tensor_maps import (
    ALIGNMENT,
    BYTES,
    MAX_RANK,
    Tile,
    global_addresses,
    outside,
    shared_addresses,
    unpack,
)

SHARED_ALIGNMENT = 128  # bytes, of a box in shared memory
RANKS = {f"{n}d": n for n in range(1, MAX_RANK + 1)}
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
    """The rank, and the modifiers after it but for those that change nothing. `start`: where the
    rank stands among the modifiers."""
    rank, *rest = i.modifiers[start:]
    refuse(rank not in RANKS, f".{rank}")
    return RANKS[rank], [word for word in rest if word not in ("tile", HINT)]


def operands_of(i: Instruction, count: int) -> list[Any]:
    """The operands without that of the cache hint; there must be so many."""
    operands = list(i.operands)
    if HINT in i.modifiers:
        operands.pop()
    refuse(len(operands) != count, "so many operands")
    return operands


def box_of(i: Instruction, operand: Operand, rank: int, at: Site) -> Callable[..., Any]:
    """A function (state, issuers) -> for each tensor map that threads name: which of them do, the
    address of the tensor, what else the map says, and the coordinates (N, rank)."""
    refuse(
        not isinstance(operand, Vector) or not isinstance(operand.elements[0], Address),
        "an operand that is no tensor",
    )
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
            thread = issuers.thread_name(which[0])
            start, tile = tensor_map(i, state, int(map_address), thread)
            if tile.rank != rank:
                raise PTXError(
                    f"the tensor map is of {tile.rank} dimensions, the instruction of {rank}",
                    instruction=i,
                    thread=thread,
                )
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
    issuers.require((corner >= 0).all(1) | (GROUPED not in issuers.i.modifiers), before)


def tensor_map(i: Instruction, state: State, address: int, thread: str) -> tuple[int, Tile]:
    """The tensor map at a generic address."""
    name = SPACE_OF_WINDOW[int(allocations.window_of(np.array(address)))]
    if name in ("shared", "local"):
        raise PTXError(
            f"the tensor map lies in {name} memory, and must lie in that of parameters (as a "
            "const __grid_constant__ CUtensorMap), constant or global memory",
            instruction=i,
            thread=thread,
        )
    space, place = state.spaces[name], np.array([[address - allocations.STARTS[name]]])
    wrong = space.check(place, None, BYTES, ALIGNMENT)
    if wrong is not None:
        raise space.fault(place, wrong, BYTES, ALIGNMENT, i, lambda *_: thread)
    first = int(place[0, 0])
    unpacked = unpack(space.data[first : first + BYTES].tobytes())
    if unpacked is None:
        raise PTXError(
            f"the {BYTES} bytes at {space.describe(first)} are no tensor map: "
            "anywarp.TensorMap makes one",
            instruction=i,
            thread=thread,
        )
    return unpacked


# -- into shared memory -----------------------------------------------------------------------


def load(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.tensor from global memory, into one block or several of the cluster."""
    rank, (to, source, *rest) = words_of(i, 3)
    several = MULTICAST in rest
    refuse(to not in ("shared::cluster", "shared::cta") or source != "global", i)
    refuse(
        set(rest) - {INTO_SHARED, MULTICAST} or INTO_SHARED not in rest,
        ".".join(f".{word}" for word in rest),
    )
    to_operand, tensor, barrier, *mask_operand = operands_of(i, 3 + several)
    to_address, barrier_address = at.slots.address(to_operand), at.slots.address(barrier)
    boxes = box_of(i, tensor, rank, at)
    ranks_of = at.slots.reader(mask_operand[0], np.uint16) if several else None

    def execute(state: State, mask: Mask) -> None:
        targets = in_shared(i, state, to, to_address(state.registers), mask)
        barriers = in_shared(i, state, to, barrier_address(state.registers), mask)
        ranks = None
        if ranks_of is not None:
            ranks = targets.values(ranks_of(state.registers))
        for which, start, tile, corner in boxes(state, targets):
            values, address, inside = fetch(targets[which], start, tile, corner)
            into, reports, copy = targets[which], barriers[which], np.arange(len(which))
            if ranks is not None:
                copy, row = spread(into, ranks[which].astype(np.int64))
                into, reports = in_rows(into, copy, row), in_rows(reports, copy, row)
            require_together(into, reports)
            shared = state.spaces["shared"]
            fine = within("store", shared, into, tile.extent, SHARED_ALIGNMENT)
            fine &= within("atomic", shared, reports, 8, 8)
            if not fine.any():
                continue
            into, reports, copy = into[fine], reports[fine], copy[fine]
            ticket = state.tickets(len(copy))
            if state.sink is not None:
                # one operation of several blocks reads once
                once, first = np.unique(copy, return_index=True)
                reads = rows(address[once], inside[once], tile.width, first)
                writes = box(tile, into)
                state.tell(Started, i, ticket, into.block, into.thread, (reads,), (writes,))
            land = landing(shared, tile, into, values, copy)
            size = np.full(len(copy), tile.size)
            state.flights.add(reports, land, size, ticket)

    return execute


def fetch(issuers: Places, start: int, tile: Tile, corner: Array) -> Any:
    """What N copies bring, and where from: values, addresses and which of them are in the tensor,
    (N, rows, elements of a row)."""
    home = issuers.state.spaces["global"]
    address, inside = global_addresses(tile, start, corner)
    check_array(issuers, address, inside, tile)
    view = home.views[tile.width]
    values = np.full(address.shape, outside(tile), view.dtype)
    values[inside] = view[address[inside] // tile.width]
    return values, address, inside


def landing(
    shared: Space, tile: Tile, into: Places, values: Array, copy: Array
) -> Callable[..., Any]:
    """The function that writes what copies with these numbers have brought."""

    def land(numbers: Array) -> None:
        index = in_row(shared, tile, into[numbers])
        shared.views[tile.width][index] = values[copy[numbers]]

    return land


def in_row(shared: Space, tile: Tile, at: Places) -> Array:
    """Where the elements of boxes lie in the data of shared memory, counted in elements."""
    first = shared.row[at.row, 0][:, None, None]
    return (shared_addresses(tile, at.address) + first) // tile.width


# -- into global memory -----------------------------------------------------------------------


def store(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.tensor from shared memory."""
    rank, words = words_of(i, 3)
    return write_out(i, at, rank, words, lambda tile: None)


def reduce(i: Instruction, at: Site) -> Execute:
    """cp.reduce.async.bulk.tensor: combined element by element with what is in the tensor."""
    rank, words = words_of(i, 4)
    name = next((word for word in words if word in REDUCTIONS), "")
    refuse(not name, i)
    words.remove(name)

    def operation(tile: Tile) -> Any:
        if tile.kind not in REDUCTIONS[name]:
            raise PTXError(f".{name} is not for elements of type .{tile.kind}", instruction=i)
        function = atomics.combined(name, tile.kind, "global")
        return DTYPES["u16" if tile.kind in atomics.HALVES else tile.kind], function

    return write_out(i, at, rank, words, operation)


def write_out(i: Instruction, at: Site, rank: int, words: list[str], operation: Any) -> Execute:
    """`operation(tile)`: the type of the elements and what combines them; None to store them."""
    refuse(words != ["global", "shared::cta", GROUPED], i)
    tensor, source = operands_of(i, 2)
    boxes, from_address = box_of(i, tensor, rank, at), at.slots.address(source)

    def execute(state: State, mask: Mask) -> None:
        every = in_shared(i, state, "shared::cta", from_address(state.registers), mask)
        for which, start, tile, corner in boxes(state, every):
            sources = every[which]
            combine = operation(tile)
            fine = within("load", state.spaces["shared"], sources, tile.extent, SHARED_ALIGNMENT)
            if not fine.any():
                continue
            sources = sources[fine]
            address, inside = global_addresses(tile, start, corner[fine])
            check_array(sources, address, inside, tile, stored=True)
            ticket = state.tickets(len(sources))
            if state.sink is not None:
                numbers = np.arange(len(sources))
                writes = rows(address, inside, tile.width, numbers)
                reads = part_of_box(tile, sources, inside)
                issuer = sources.block, sources.thread
                state.tell(Started, i, ticket, *issuer, (reads,), (writes,))
            issue(tile, sources, address, inside, combine, ticket)

    return execute


def issue(
    tile: Tile, sources: Places, address: Array, inside: Array, combine: Any, ticket: Array
) -> None:
    """Copies from shared to global memory, one of a thread, as members of bulk groups."""
    state = sources.state
    shared, view = state.spaces["shared"], state.spaces["global"].views[tile.width]
    values = np.zeros(address.shape, view.dtype)

    def read(these: Array) -> None:
        values[these] = shared.views[tile.width][in_row(shared, tile, sources[these])]

    def write(these: Array) -> None:
        here = inside[these]
        index, new = address[these][here] // tile.width, values[these][here]
        if combine is None:
            view[index] = new
        else:
            dtype, function = combine
            atomics.take_turns(view.view(dtype), index, [new.view(dtype)], function)

    state.flights.add_to_group(sources, read, write, ticket)


# -- both ways --------------------------------------------------------------------------------


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


def rows(address: Array, inside: Array, width: int, operation: Any) -> Stretches:
    """The stretches of global memory that boxes reach: rows, and as one those that touch."""
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


def box(tile: Tile, at: Places) -> Stretches:
    """The stretches of shared memory that boxes fill."""
    size = np.full(len(at), tile.extent)
    return Stretches("shared", np.arange(len(at)), at.row, at.address, size)


def part_of_box(tile: Tile, at: Places, inside: Array) -> Stretches:
    """The stretches of shared memory whose elements lie inside of the array."""
    if inside.all():
        return box(tile, at)
    whose = np.broadcast_to(np.arange(len(at))[:, None, None], inside.shape)[inside]
    start = shared_addresses(tile, at.address)[inside]
    order = np.lexsort((start, whose))  # a swizzle changes their order
    whose, start = whose[order], start[order]
    begin, size = joined(whose, start, np.full(len(start), tile.width))
    return Stretches("shared", whose[begin], at.row[whose[begin]], start[begin], size)


def copy(i: Instruction, at: Site) -> Execute:
    """cp.async.bulk.tensor, either way."""
    return (store if i.modifiers[4:5] == ("global",) else load)(i, at)


TENSORS = {
    "cp.async.bulk.tensor": copy,
    "cp.reduce.async.bulk.tensor": reduce,
}
