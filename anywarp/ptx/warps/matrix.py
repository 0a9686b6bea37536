"""Matrix instructions of a warp: mma, ldmatrix, stmatrix, movmatrix.

Each lane holds a few elements of every matrix, its fragment; `fragment` says which. All 32 lanes
of a warp take part, and wait for each other. What mma computes is in `tensor_core`.
PTX ISA, chapter 9.7.14 (warp-level matrix instructions).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..aliases import Array, DType, Execute, Mask, Operand, Site, State
from ..arithmetic import float8, tensor_core
from ..memory import access, clusters
from ..memory.allocations import SHARED_WINDOW, UNSIGNED
from ..text import forms, isa
from ..text.forms import match_modifiers, refuse
from ..text.syntax import Instruction
from .warp import LANES, by_thread, by_warp, together

BITS = {"f64": 64, "f32": 32, "s32": 32, "tf32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8}
BITS |= dict.fromkeys(float8.FORMATS, 8)
SHAPES = {  # by the type of a
    "f16": {"m16n8k8", "m16n8k16"},
    "bf16": {"m16n8k8", "m16n8k16"},
    "tf32": {"m16n8k4", "m16n8k8"},
    "s8": {"m8n8k16", "m16n8k16", "m16n8k32"},
    "u8": {"m8n8k16", "m16n8k16", "m16n8k32"},
    "f64": {"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"},
    **{kind: {"m16n8k16", "m16n8k32"} for kind in float8.FORMATS},
}
PRODUCT_OF: dict[tuple[str, ...], str] = {  # of products by the types of d, a, b and c
    ("f32", "f16", "f16", "f32"): "f16",
    ("f16", "f16", "f16", "f16"): "f16.f16",
    ("f32", "bf16", "bf16", "f32"): "bf16",
    ("f32", "tf32", "tf32", "f32"): "tf32",
    ("f64", "f64", "f64", "f64"): "f64",
    **{("s32", *types, "s32"): kind for kind, types in tensor_core.OF_BYTES.items()},
    **{("f32", a, b, "f32"): "fp8" for a in float8.FORMATS for b in float8.FORMATS},
}
DTYPES = forms.DTYPES | {"tf32": np.float32, "bf16": np.uint16}
DTYPES |= dict.fromkeys(float8.FORMATS, np.uint8)


# -- where the elements are ---------------------------------------------------------------------


def sizes(shape: str) -> tuple[int, int, int]:
    """ "m16n8k8" -> (16, 8, 8)."""
    m, n, k = map(int, re.findall(r"\d+", shape))
    return m, n, k


@functools.cache
def fragment(matrix: str, shape: str, kind: str) -> tuple[Array, Array]:
    """The (row, column) of each element that a warp's registers hold, as two arrays of shape
    (registers, 32 lanes, elements in a register), the lowest bits of a register first.

    matrix: "a" (M x K), "b" (K x N), "c" or "d" (M x N). shape: as in mma's name, "m16n8k16".
    kind: the type of the matrix's elements, "f16".

    The lanes form eight groups of four. Of a and b, a group has a row of a and a column of b, and
    again the row eight below; a lane has the elements in a register side by side along k, and its
    next register those that follow the group's. Of c, a lane has two elements side by side.
    """
    m, n, k = sizes(shape)
    count, packed = {"a": m * k, "b": k * n}.get(matrix, m * n), max(1, 32 // BITS[kind])
    register = np.arange(count // LANES // packed)[:, None, None]
    lane, element = np.arange(LANES)[:, None], np.arange(packed)
    group, member = lane // 4, lane % 4
    if matrix == "a":
        along, down = register // (m // 8), register % (m // 8)
        row, column = group + 8 * down, packed * (member + 4 * along) + element
    elif matrix == "b":
        down, along = register % (k // (4 * packed)), register // (k // (4 * packed))
        row, column = packed * (member + 4 * down) + element, group + 8 * along
    else:
        pair, place = divmod(register * packed + element, 2)
        row, column = group + 8 * (pair % (m // 8)), 2 * member + place + 8 * (pair // (m // 8))
    row, column, _ = np.broadcast_arrays(row, column, register + lane + element)
    return row, column


@functools.cache
def places(matrix: str, shape: str, kind: str) -> tuple[Array, Array]:
    """Where in the registers, taken as one list of elements, each element of the matrix is; and
    where in the matrix each of the registers' is."""
    rows, columns = fragment(matrix, shape, kind)
    m, n, k = sizes(shape)
    height, width = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    to_matrix = (rows * width + columns).reshape(-1)
    from_registers = np.empty_like(to_matrix)
    from_registers[to_matrix] = np.arange(len(to_matrix))
    return from_registers.reshape(height, width), to_matrix


# -- whole warps --------------------------------------------------------------------------------


NOTHING = np.uint32(0xFFFFFFFF)  # what memory holds that nobody wrote
EVERY_LANE = np.full((1, 1), 0xFFFFFFFF, np.uint32)


def as_warps(exchange: Callable[..., None], i: Instruction, at: Site) -> Execute:
    """Run `exchange(state, mask, warps)` when all 32 lanes of a warp have come here. `warps` (B,
    W) says which warps those are."""

    def check(state: State, mask: Mask, active: Array, members: Array) -> None:
        count = active.sum(-1)
        whole = np.repeat(count == LANES, LANES, axis=1)[:, : state.shape[1]]
        lacking = lambda at: (
            f"{i.opcode} needs all 32 lanes of a warp: here are {count[at[0], at[1] // LANES]}, "
            "the others have exited or were never there"
        )
        state.require(whole, mask, i, lacking)
        exchange(state, mask, count > 0)

    return together(check, lambda registers: EVERY_LANE, i, at)


def reader(operand: Operand, count: int, dtype: DType, at: Site) -> Callable[..., Any]:
    """A function (state, warps) -> an operand's registers (warps, count, 32)."""
    readers = at.slots.readers(operand, count, dtype)

    def read(state: State, warps: Array) -> Any:
        blocks, threads = state.shape
        registers = np.empty((count, blocks, warps.shape[1], LANES), dtype)
        for n, each in enumerate(readers):
            registers[n] = by_warp(each(state.registers), state)
        return registers[:, warps].swapaxes(0, 1)

    return read


def writer(operand: Operand, count: int, dtype: DType, at: Site) -> Callable[..., Any]:
    """A function (state, mask, warps, values): the inverse of `reader`."""
    writers = at.slots.writers(operand, count, dtype)

    def write(state: State, mask: Mask, warps: Array, values: Array) -> None:
        for n, each in enumerate(writers):
            whole = np.zeros((*warps.shape, LANES), dtype)
            whole[warps] = values[:, n]
            each(state.registers, by_thread(whole, state), mask)

    return write


# -- products -----------------------------------------------------------------------------------


def mma(i: Instruction, at: Site) -> Execute:
    """mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c"""
    words = [m for m in i.modifiers if m != "satfinite"]
    types, shape = tuple(words[5:]), words[2]
    refuse(words[:2] + words[3:5] != ["sync", "aligned", "row", "col"], i)
    refuse(types not in PRODUCT_OF or shape not in SHAPES[types[1]], i)
    counts = {name: len(fragment(name, shape, of)[0]) for name, of in zip("dabc", types)}
    return product(i, at, shape, types, counts)


def product(i: Instruction, at: Site, shape: str, types: Any, counts: dict[Any, Any]) -> Execute:
    """d = a b + c of matrices in registers: `types` has those of d, a, b and c, `counts` says by
    these names how many registers each takes.

    Several that follow each other run together, those at once that do not wait for each other's
    results."""
    satfinite = "satfinite" in i.modifiers
    refuse(satfinite and types[0] != "s32", i)
    word, kind = UNSIGNED[max(4, BITS[types[0]] // 8)], PRODUCT_OF[types]
    names = dict(zip("dabc", types))
    batches = []
    for batch in independent(at.run):
        read = [
            [reader(each.operands[n], counts[name], word, at) for each in batch]
            for n, name in enumerate("abc", 1)
        ]
        write = [writer(each.operands[0], counts["d"], word, at) for each in batch]
        batches.append((read, write))

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        for read, write in batches:
            a, b, c = (
                matrix_of(np.concatenate([r(state, warps) for r in each]), name, shape, names[name])
                for name, each in zip("abc", read)
            )
            d = tensor_core.tensor_core(a, b, c, kind, satfinite)
            d = registers_of(d, "d", shape, names["d"], word)
            for store, values in zip(write, np.split(d, len(write))):
                store(state, mask, warps, values)

    return as_warps(exchange, i, at)


def independent(run: Sequence[Instruction]) -> list[list[Instruction]]:
    """A run of mma, cut where one needs or changes what those before it write."""
    batches: list[list[Instruction]] = [[]]
    written: set[str] = set()
    for i in run:
        if not written.isdisjoint((*isa.read(i), *isa.written(i))):
            batches.append([])
            written = set()
        batches[-1].append(i)
        written.update(isa.written(i))
    return batches


def matrix_of(registers: Array, matrix: str, shape: str, kind: str) -> Any:
    """Registers (warps, count, 32) -> matrices (warps, rows, columns); 8-bit floats as float16."""
    flat = np.ascontiguousarray(registers).view(DTYPES[kind]).reshape(len(registers), -1)
    if kind in float8.FORMATS:
        flat = float8.half_of(flat.astype(np.uint16), kind).view(np.float16)
    return flat.take(places(matrix, shape, kind)[0], axis=1)


def registers_of(matrices: Array, matrix: str, shape: str, kind: str, word: DType) -> Any:
    """The inverse of `matrix_of`."""
    flat = matrices.reshape(len(matrices), -1).take(places(matrix, shape, kind)[1], axis=1)
    return flat.view(word).reshape(len(matrices), -1, LANES)


# -- matrices of 8 x 8 in shared memory ---------------------------------------------------------


def transposed(words: Array) -> Any:
    """Matrices of 8 x 8 halves as words (…, 32), four to a row."""
    halves = words.view(np.uint16).reshape(*words.shape[:-1], 8, 8)
    return np.ascontiguousarray(halves.swapaxes(-1, -2)).view(np.uint32).reshape(words.shape)


def form(i: Instruction) -> tuple[int, bool, bool]:
    """How many matrices, whether they are transposed, and whether addresses are generic."""
    words = set(i.modifiers)  # ptxas takes them in any order
    count, options = words & {"x1", "x2", "x4"}, words & {"trans", "shared", "shared::cta"}
    refuse(words != {"sync", "aligned", "m8n8", "b16"} | count | options or len(count) != 1, i)
    return int(count.pop()[1]), "trans" in options, options <= {"trans"}


def row_address(operand: Operand, count: int, generic: bool, at: Site) -> Callable[..., Any]:
    """A function (state, mask) -> the space, the addresses of rows that lanes give, and the mask of
    the lanes whose row is to be reached: 8 lanes for each matrix."""
    address_of = at.slots.address(operand)

    def find(state: State, mask: Mask) -> access.Part:
        address = np.broadcast_to(address_of(state.registers), state.shape)
        rows = state.full(mask) & (np.arange(state.shape[1]) % LANES < 8 * count)
        if generic:
            address = clusters.unnamed(state, address - SHARED_WINDOW, clusters.rows(state))
        return state.spaces["shared"], address, rows

    return find


def load_matrix(i: Instruction, at: Site) -> Execute:
    """ldmatrix: lane r of each eight gives the address of row r of a matrix, 16 bytes; lane n
    gets word n % 4 of row n / 4, or with .trans elements of column n / 4."""
    count, trans, generic = form(i)
    rows_of = row_address(i.operands[1], count, generic, at)
    write = writer(i.operands[0], count, np.uint32, at)

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        home, address, _ = part = rows_of(state, mask)
        good = access.reach(i, state, "load", part, 16)
        words = [np.where(good, x, NOTHING) for x in home.load(address, None, 4, 4)]
        rows = np.stack([by_warp(x, state)[warps] for x in words], axis=-1)
        words_of_lanes = rows[:, : 8 * count].reshape(-1, count, LANES)
        write(state, mask, warps, transposed(words_of_lanes) if trans else words_of_lanes)

    return as_warps(exchange, i, at)


def store_matrix(i: Instruction, at: Site) -> Execute:
    """stmatrix: the inverse of ldmatrix."""
    count, trans, generic = form(i)
    rows_of = row_address(i.operands[0], count, generic, at)
    read = reader(i.operands[1], count, np.uint32, at)

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        words = np.zeros((*warps.shape, LANES, 4), np.uint32)
        given = read(state, warps)
        given = transposed(given) if trans else given
        words[warps, : 8 * count] = given.reshape(-1, 8 * count, 4)
        values = [by_thread(words[..., n], state) for n in range(4)]
        access.write(i, state, rows_of(state, mask), values, 4)

    return as_warps(exchange, i, at)


def move_matrix(i: Instruction, at: Site) -> Execute:
    """movmatrix: a matrix of 8 x 8, transposed, from register to register."""
    match_modifiers(i, "sync", "aligned", "m8n8", "trans", "b16")
    read, write = reader(i.operands[1], 1, np.uint32, at), writer(i.operands[0], 1, np.uint32, at)

    def exchange(state: State, mask: Mask, warps: Array) -> None:
        write(state, mask, warps, transposed(read(state, warps)))

    return as_warps(exchange, i, at)


MATRIX = {"mma": mma, "ldmatrix": load_matrix, "stmatrix": store_matrix, "movmatrix": move_matrix}
