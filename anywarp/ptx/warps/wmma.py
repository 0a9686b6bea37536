"""wmma: matrices that a warp loads, multiplies and stores as wholes; nvcuda::wmma is made of it.

PTX leaves open which lane holds what, so the fragments here are those of mma, for every shape
(`matrix.fragment`). PTX ISA, chapter 9.7.14.4 (wmma.load, wmma.store, wmma.mma).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Operand, Site, State
from ..errors import MemoryFault
from ..memory.access import reach, spaces_of, write
from ..memory.allocations import UNSIGNED
from ..text.forms import refuse
from ..text.syntax import Instruction
from .matrix import BITS, PRODUCT_OF, as_warps, fragment, product
from .warp import LANES

K16 = {"m16n16k16", "m32n8k16", "m8n32k16"}
SHAPES = {"f16": K16, "bf16": K16, "s8": K16, "u8": K16, "tf32": {"m16n16k8"}, "f64": {"m8n8k4"}}
SUMS = {kind: {d for d, a, *_ in PRODUCT_OF if a == kind} for kind in SHAPES}
LAYOUTS = ("row", "col")


def registers_for(matrix: str, shape: str, kind: str) -> int:
    """How many registers an operand has: those of a and b of float16 are always eight, which hold
    some elements more than once."""
    return 8 if kind == "f16" and matrix in "ab" else len(fragment(matrix, shape, kind)[0])


def form(i: Instruction) -> tuple[str, str, str, str, str]:
    """`.a.sync.aligned.row.m16n16k16.global.f16` -> matrix, layout, shape, space, type."""
    matrix, layout, shape, kind = i.modifiers[1], *i.modifiers[4:6], i.modifiers[-1]
    space = i.modifiers[6].split("::")[0] if len(i.modifiers) == 8 else "generic"
    known = {x for x, shapes in SHAPES.items() if shape in shapes}
    if matrix in "cd":
        known = {x for source in known for x in SUMS[source]}
    there = matrix in ("d" if i.modifiers[0] == "store" else "abc") and kind in known
    refuse(i.modifiers[2:4] != ("sync", "aligned") or layout not in LAYOUTS or not there, i)
    refuse(space not in ("generic", "global", "shared") or len(i.modifiers) > 8, i)
    return matrix, layout, shape, space, kind


def pieces(matrix: str, layout: str, shape: str, kind: str) -> Any:
    """(bytes of an access, index of the line of memory, index in it): int arrays (registers, 32
    lanes, accesses for a register). Elements that lie side by side are one access."""
    rows, columns = fragment(matrix, shape, kind)
    lines, within = (rows, columns) if layout == "row" else (columns, rows)
    size = BITS[kind] // 8
    if layout == ("col" if matrix == "b" else "row"):  # as in the registers
        return size * rows.shape[2], lines[:, :, :1], within[:, :, :1]
    return size, lines, within


def accesses(i: Instruction, at: Site, operand: Operand) -> tuple[Callable[..., Any], Any, Any]:
    """A function (state, mask) -> the addresses of `pieces`: for each register, for each access;
    the space and the bytes of an access; how many registers there are and their type.

    Lines must begin at multiples of 16 bytes, as CUDA asks; PTX asks for those of a fragment's
    size where that is less."""
    matrix, layout, shape, space, kind = form(i)
    address_of = at.slots.address(operand)
    width, lines, within = pieces(matrix, layout, shape, kind)
    whole = int(fragment(matrix, shape, kind)[layout == "row"].max()) + 1  # elements of a line
    stride_of = at.slots.reader(i.operands[2], np.uint32) if len(i.operands) > 2 else None
    size, count = BITS[kind] // 8, registers_for(matrix, shape, kind)
    align = min(16, count * max(4, size))
    misaligned = (
        "misaligned matrix: where it starts, and the bytes from one line to the next, must "
    )
    misaligned += f"must be multiples of {align}"

    def find(state: State, mask: Mask) -> Any:
        lane = np.arange(state.shape[1]) % LANES
        start = address_of(state.registers)
        step = size * (stride_of(state.registers).astype(np.int64) if stride_of else whole)
        state.require((start | step) & align - 1 == 0, mask, i, misaligned, MemoryFault)
        return [
            [start + x[lane] * step + size * y[lane] for x, y in zip(line.T, place.T)]
            for line, place in zip(lines, within)
        ]

    return find, (space, width), (count, UNSIGNED[max(4, size)])


def load(i: Instruction, at: Site) -> Execute:
    """wmma.load.{a,b,c}.sync.aligned.layout.shape{.space}.type registers, [start]{, stride}"""
    find, (space, width), (count, word) = accesses(i, at, i.operands[1])
    writers = at.slots.writers(i.operands[0], count, word)

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        loaded = []
        for places in find(state, mask):
            parts = np.zeros((*state.shape, len(places)), UNSIGNED[width])
            for n, place in enumerate(places):
                for home, address, part in spaces_of(space, place, mask, state):
                    part = state.full(reach(i, state, "load", (home, address, part), width))
                    value = home.load(address, None, width, 1)[0]
                    parts[..., n] = np.where(part, value, parts[..., n])
            loaded.append(parts.view(word)[..., 0])
        for n, give in enumerate(writers):
            give(state.registers, loaded[n % len(loaded)], mask)

    return as_warps(exchange, i, at)


def store(i: Instruction, at: Site) -> Execute:
    """wmma.store.d.sync.aligned.layout.shape{.space}.type [start], registers{, stride}"""
    find, (space, width), registers = accesses(i, at, i.operands[0])
    readers = at.slots.readers(i.operands[1], *registers)

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        for read, places in zip(readers, find(state, mask)):
            words = np.broadcast_to(read(state.registers), state.shape)
            parts = np.ascontiguousarray(words)[..., None].view(UNSIGNED[width])
            for n, place in enumerate(places):
                for part in spaces_of(space, place, mask, state):
                    write(i, state, part, [parts[..., n]], width)

    return as_warps(exchange, i, at)


def multiply(i: Instruction, at: Site) -> Execute:
    """wmma.mma.sync.aligned.layout.layout.shape.types{.satfinite} d, a, b, c: the types are those
    of d and c for float16, else of d, a, b and c."""
    types = [m for m in i.modifiers[6:] if m not in ("satfinite", "rn")]
    shape = i.modifiers[5]
    result, a, b, c = (types[0], "f16", "f16", types[1]) if len(types) == 2 else types
    of = result, a, b, c
    refuse(i.modifiers[1:3] != ("sync", "aligned") or not {*i.modifiers[3:5]} <= {*LAYOUTS}, i)
    refuse(shape not in SHAPES.get(a, ()) or a != b or of not in PRODUCT_OF, i)
    counts = {name: registers_for(name, shape, kind) for name, kind in zip("dabc", of)}
    return product(i, at, shape, of, counts)


WMMA = {"wmma.load": load, "wmma.store": store, "wmma.mma": multiply}
