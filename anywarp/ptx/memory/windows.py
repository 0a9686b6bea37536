"""Instructions that compute with addresses: cvta, isspacep, mapa and getctarank.

A generic address says by its window in which space it lies (`allocations.WINDOWS`), and one of
shared memory by its rank in which block of a cluster (`allocations.RANK_SHIFT`). In a cluster of
several blocks, the generic address of a block's own shared memory names the block, so that it means
the same to all of them. One of the space itself, such as that of a variable, names none unless mapa
made it: it is everybody's own, other than on a GPU.
PTX ISA, chapters 9.7.9.20 to 9.7.9.24.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliases import Execute, Mask, Operand, Site, State
from ..text.forms import DTYPES, refuse
from ..text.syntax import Instruction
from . import clusters
from .allocations import NAMED, RANK_SHIFT, SHARED_WINDOW, STARTS, window_of
from .clusters import OFFSET

HIGHEST = (NAMED >> RANK_SHIFT) - 1  # of the ranks that an address of 32 bits can name


def change_window(i: Instruction, at: Site) -> Execute:
    """cvta: between a space's own addresses and generic ones."""
    slots, to = at.slots, i.modifiers[0] == "to"
    space, kind = i.modifiers[-2:]
    start = STARTS[space.split("::")[0]]
    dtype = DTYPES[kind]
    refuse(kind == "u32" and start, i)
    read, write = slots.reader(i.operands[1], dtype), slots.writer(i.operands[0], dtype)
    shift = dtype((-start if to else start) & (2 ** (8 * dtype().itemsize) - 1))
    if not start:
        return lambda state, mask: write(state.registers, read(state.registers), mask)
    shared = start == SHARED_WINDOW

    def execute(state: State, mask: Mask) -> None:
        address = read(state.registers)
        if not to and shared and state.launch.cluster.size > 1:
            own = clusters.name(state, clusters.rows(state)).astype(dtype)
            address = np.where(address > OFFSET, address, address + own)
        address = address + shift
        if to and shared and space != "shared::cluster":
            offset = clusters.unnamed(state, address.view(np.int64), clusters.rows(state))
            address = offset.view(dtype)
        write(state.registers, address, mask)

    return execute


def is_space(i: Instruction, at: Site) -> Execute:
    """isspacep.space p, address: whether a generic address lies in a space. The shared memory of
    a block is part of that of its cluster."""
    (space,) = i.modifiers
    name = space.split("::")[0]
    address_of = at.slots.address(i.operands[1])
    write = at.slots.writer(i.operands[0], np.bool_)

    def execute(state: State, mask: Mask) -> None:
        address = address_of(state.registers)
        inside = window_of(address) == STARTS[name] >> 40
        if name in ("global", "const"):
            constant = np.zeros(address.shape, bool)
            for a in state.spaces["const"].allocations:
                constant |= (address >= a.start) & (address < a.end)
            inside &= constant if name == "const" else ~constant
        if space in ("shared", "shared::cta") and state.launch.cluster.size > 1:
            own = clusters.unnamed(state, address - SHARED_WINDOW, clusters.rows(state))
            inside = inside & (own <= OFFSET)
        write(state.registers, inside, mask)

    return execute


def in_cluster(i: Instruction, at: Site, operand: Operand) -> Any:
    """A function (state, mask) -> int64 addresses in shared memory, of an operand that is one or,
    if the modifiers name no space, a generic address of it."""
    space, kind = (i.modifiers[0] if len(i.modifiers) > 1 else "generic"), i.modifiers[-1]
    refuse(space not in ("generic", "shared::cluster") or kind not in ("u32", "u64"), i)
    read = at.slots.reader(operand, DTYPES[kind])

    def find(state: State, mask: Mask) -> Any:
        address = read(state.registers).astype(np.int64)
        if space == "shared::cluster":
            return address
        why = f"{i.opcode} of a generic address that is not in shared memory"
        state.require(window_of(address) == 1, mask, i, why)
        return address - SHARED_WINDOW

    return find, (SHARED_WINDOW if space == "generic" else 0), DTYPES[kind]


def map_address(i: Instruction, at: Site) -> Execute:
    """mapa: the address of the same place in the shared memory of another block of the cluster.

    A rank that the cluster lacks gives an address whose use is an error."""
    find, start, dtype = in_cluster(i, at, i.operands[1])
    rank_of = at.slots.reader(i.operands[2], np.uint32)
    write = at.slots.writer(i.operands[0], dtype)

    def execute(state: State, mask: Mask) -> None:
        offset = find(state, mask) & OFFSET
        rank = rank_of(state.registers).astype(np.int64)
        tag = NAMED | np.minimum(rank, HIGHEST) << RANK_SHIFT
        if state.launch.cluster.size == 1:
            tag = np.where(rank == 0, 0, tag)
        write(state.registers, (offset + tag + start).astype(dtype), mask)

    return execute


def rank_of_address(i: Instruction, at: Site) -> Execute:
    """getctarank: which block of the cluster an address of shared memory is in."""
    find, _, _ = in_cluster(i, at, i.operands[1])
    write = at.slots.writer(i.operands[0], np.uint32)

    def execute(state: State, mask: Mask) -> None:
        owner, _ = clusters.split(state, find(state, mask), clusters.rows(state))
        write(state.registers, (owner % state.launch.cluster.size).astype(np.uint32), mask)

    return execute


ADDRESSES = {"cvta": change_window, "isspacep": is_space}
ADDRESSES |= {"mapa": map_address, "getctarank": rank_of_address}
