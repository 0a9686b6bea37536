"""Instructions of a warpgroup, four warps that compute a product together: wgmma and setmaxnreg.

A warpgroup is 128 threads in a row whose first number is a multiple of 128. It multiplies a tile of
A, 64 rows, with a tile of B, up to 256 columns, and adds the product to registers of its threads.
B lies in shared memory, A there or in registers too. What is in shared memory is found by a
descriptor (see `descriptor`).

On a GPU the product is computed some time between this instruction and the wait for its group.
Here it is computed at once: a kernel that waits as it must cannot tell the difference, and the
sink is told from when to when the bytes are read.
PTX ISA: "Asynchronous warpgroup level matrix instructions", "setmaxnreg".
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array, Execute, Mask, Site, State
from ..arithmetic.tensor_core import tensor_core
from ..text.forms import Unsupported, match_modifiers, refuse
from ..text.syntax import Immediate, Instruction, Vector
from . import warp
from .descriptor import DEPTH
from .matrix import BITS, DTYPES, PRODUCT_OF
from .warpgroup_state import THREADS, Team, complete

ROWS = 64  # of A and of the product


class Types(NamedTuple):
    """What the types of a wgmma mean. `kind` is that of `tensor_core`."""

    kind: str
    element: int  # bytes of one of A or B
    total: type  # of the sums


TYPES = {
    names[:3]: Types(kind, BITS[names[1]] // 8, DTYPES[names[0]])
    for names, kind in PRODUCT_OF.items()
    if kind not in ("f64", "fp8")
}
COLUMNS = {4: range(8, 257, 8), 2: range(8, 257, 8), 1: (8, 24, *range(16, 257, 16))}


class Form(NamedTuple):
    """What the modifiers and the numbers among the operands of a wgmma say."""

    names: tuple[str, ...]  # of the types: of the sums, of A, of B
    types: Types
    n: int  # columns of B
    k: int
    satfinite: bool
    signs: tuple[int, int]  # of A and B, 1 or -1
    majors: tuple[str, str]  # "K" or "MN"

    @property
    def tiles(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Rows, k, bytes of an element and direction of A and of B, as `units` takes them."""
        element, (major_a, major_b) = self.types.element, self.majors
        return (ROWS, self.k, element, major_a), (self.n, self.k, element, major_b)


def form_of(i: Instruction) -> Form:
    """wgmma.mma_async.sync.aligned.shape{.satfinite}.d.a.b d, a, b, scale-d{, scale-a, scale-b{,
    transposed-a}{, transposed-b}}: the scales of floats alone, transposed of elements of two bytes,
    that of A where A is in shared memory."""
    words = i.modifiers
    shape = re.fullmatch(r"m64n(\d+)k(\d+)", words[3]) if len(words) > 6 else None
    flags = words[4:-3]
    if words[:3] != ("mma_async", "sync", "aligned") or words[-3:] not in TYPES or not shape:
        raise Unsupported(".".join(words))
    types, n, k = TYPES[words[-3:]], int(shape[1]), int(shape[2])
    wrong = flags not in ((), ("satfinite",)) or (flags and types.total is not np.int32)
    refuse(wrong, "".join(f".{flag}" for flag in flags))
    wrong = n not in COLUMNS[types.element] or k != DEPTH // types.element
    refuse(wrong, f".{words[3]} of {words[-1]}")
    _, a, _, _, *given = i.operands
    numbers: list[Any] = [each.value if isinstance(each, Immediate) else None for each in given]
    turned = [False] if isinstance(a, Vector) else []
    scales = 0 if types.element == 1 else 2
    wanted = scales + (2 - len(turned) if types.element == 2 else 0)
    refuse(len(numbers) != wanted, f"{len(numbers)} operands after scale-d instead of {wanted}")
    signs, turned = numbers[:scales] or [1, 1], (turned + numbers[scales:] + [0, 0])[:2]
    wrong = not {-1, 1}.issuperset(signs) or not {0, 1}.issuperset(turned)
    refuse(wrong, "a scale other than 1 and -1, or a transposition other than 0 and 1")
    a_major, b_major = ("MN" if each else "K" for each in turned)
    return Form(words[-3:], types, n, k, bool(flags), (signs[0], signs[1]), (a_major, b_major))


def multiply(i: Instruction, at: Site) -> Execute:
    """wgmma.mma_async: product = A B + product, or A B alone where scale-d is false."""
    form, slots = form_of(i), at.slots
    kind, element, total = form.types
    target, a, b, scale, *_ = i.operands
    in_registers = isinstance(a, Vector)
    pair = np.dtype(total).itemsize // 2  # registers of two columns of the product
    count = form.n // 4 * pair
    readers = slots.readers(target, count, np.uint32)
    writers = slots.writers(target, count, np.uint32)
    factors = slots.readers(a, 4, np.uint32) if in_registers else []
    a_of = None if in_registers else slots.reader(a, np.uint64)
    b_of, scale_of = slots.reader(b, np.uint64), slots.reader(scale, np.bool_)

    def run(state: State, mask: Mask) -> None:
        team = Team(state, mask, i)
        shape_a, shape_b = form.tiles
        tiles = [team.tile("B", b_of, shape_b)]
        if a_of is None:
            left = from_registers(team.all(factors), 1).view(f"u{element}")
        else:
            tiles.insert(0, team.tile("A", a_of, shape_a))
            left = team.load(tiles[0])
        left = values(left, form.names[1], form.signs[0])
        right = values(team.load(tiles[-1]), form.names[2], form.signs[1]).swapaxes(1, 2)
        sums: Array = from_registers(team.all(readers), pair).view(total)
        adds = team.same("scale-d", scale_of)
        sums = np.where(adds[:, None, None], sums, total(0))
        product = np.ascontiguousarray(tensor_core(left, right, sums, kind, form.satfinite))
        for write, words in zip(writers, to_registers(product.view(np.uint32), pair)):
            write(state.registers, team.spread(words), mask)
        if state.sink is not None:
            team.announce(tiles, adds)

    return warp.gather(run, complete(i), i, at, "not all 128 threads of the warpgroup come here")


def values(bits: Array, kind: str, sign: int) -> Array:
    """Elements given as unsigned integers, as `tensor_core` takes them, negated where the sign is
    -1."""
    if kind in ("s8", "u8"):
        return bits.view({"s8": np.int8, "u8": np.uint8}[kind])
    if sign < 0:
        bits = bits ^ bits.dtype.type(1 << 8 * bits.itemsize - 1)
    return bits.view({"f16": np.float16, "tf32": np.float32}.get(kind, bits.dtype))


def from_registers(words: Array, pair: int) -> Array:
    """Registers of a warpgroup -> the matrix of 64 rows that they hold.

    words: uint32 (registers, G, 128) of G warpgroups. pair: words that a thread holds side by side,
    2 of a product in float32, else 1. Returns uint32 (G, 64, words of a row).

    Warp w has rows 16 w to 16 w + 15: lane l holds row l // 4, and eight below it, and there the
    pair of words l % 4 of every four pairs. Its registers are those pairs, first of the one row,
    then of the other, then of the next four pairs.
    """
    count, groups, _ = words.shape
    split = words.reshape(count // (2 * pair), 2, pair, groups, 4, 8, 4)
    return split.transpose(3, 4, 1, 5, 0, 6, 2).reshape(groups, ROWS, 2 * count)


def to_registers(matrix: Array, pair: int) -> Array:
    """The inverse of `from_registers`."""
    groups, _, width = matrix.shape
    split = matrix.reshape(groups, 4, 2, 8, width // (4 * pair), 4, pair)
    return split.transpose(4, 2, 6, 0, 1, 3, 5).reshape(width // 2, groups, THREADS)


def plain(i: Instruction, at: Site) -> Execute:
    """wgmma.fence: nothing to do where a product is computed at once."""
    match_modifiers(i, "fence commit_group wait_group", "sync", "aligned")
    return lambda state, mask: None


def commit_group(i: Instruction, at: Site) -> Execute:
    """wgmma.commit_group: the products issued so far become a group."""
    plain(i, at)

    def execute(state: State, mask: Mask) -> None:
        if state.sink is not None:
            state.products.commit(state.full(mask))

    return execute


def wait_group(i: Instruction, at: Site) -> Execute:
    """wgmma.wait_group N: all but the newest N groups are done."""
    plain(i, at)
    pending = int(i.operands[0].value)

    def execute(state: State, mask: Mask) -> None:
        for finish, done in state.products.older(state.full(mask), pending):
            finish(done)

    return execute


def set_registers(i: Instruction, at: Site) -> Execute:
    """setmaxnreg: how many registers a thread may have from here on. Nothing to compute."""
    match_modifiers(i, "inc dec", "sync", "aligned", "u32")
    count = i.operands[0].value
    wrong = count not in range(24, 257, 8)
    refuse(wrong, f"{count} registers: they are a multiple of 8, from 24 to 256")
    return lambda state, mask: None


PRODUCTS = {"wgmma.mma_async": multiply}
GROUPS = {"wgmma.commit_group": commit_group, "wgmma.wait_group": wait_group}
GROUPS |= {"wgmma.fence": plain, "setmaxnreg": set_registers}
