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
from typing import NamedTuple

import numpy as np

from . import warp
from .descriptor import DEPTH, Descriptor, decoded, stretches, units
from .errors import MemoryFault, PTXError
from .events import Fault, Finished, Started, Stretches
from .forms import Unsupported
from .syntax import Immediate, Instruction, Vector
from .tensor_core import tensor_core

THREADS = 128  # of a warpgroup
ROWS = 64  # of A and of the product
NOBODY = (1 << 64) - 1  # what is read where nobody has written


class Form(NamedTuple):
    """What the types of a wgmma mean. `kind` is that of `tensor_core`."""

    kind: str
    element: int  # bytes of one of A or B
    immediates: int  # operands after scale-d: scales, and for two-byte elements transpositions
    total: type = np.float32  # type of the sums


FORMS = {
    ("f32", "f16", "f16"): Form("f16", 2, 4),
    ("f16", "f16", "f16"): Form("f16.f16", 2, 4, np.float16),
    ("f32", "bf16", "bf16"): Form("bf16", 2, 4),
    ("f32", "tf32", "tf32"): Form("tf32", 4, 2),
    ("s32", "s8", "s8"): Form("s8", 1, 0, np.int32),
    ("s32", "u8", "u8"): Form("u8", 1, 0, np.int32),
    ("s32", "s8", "u8"): Form("s8.u8", 1, 0, np.int32),
    ("s32", "u8", "s8"): Form("u8.s8", 1, 0, np.int32),
}
COLUMNS = range(8, 257, 8)
COLUMNS_OF_BYTES = (8, 24, *range(16, 257, 16))


def multiply(i: Instruction, at):
    """wgmma.mma_async: product = A B + product, or A B alone where scale-d is false."""
    words = list(i.modifiers)
    if words[:3] != ["mma_async", "sync", "aligned"] or len(words) < 7:
        raise Unsupported(".".join(words))
    shape, types = re.fullmatch(r"m64n(\d+)k(\d+)", words[3]), tuple(words[-3:])
    form, others = FORMS.get(types), words[4:-3]
    if form is None or shape is None or others not in ([], ["satfinite"]):
        raise Unsupported(".".join(words[3:]))
    kind, element, immediates, total = form
    n, k = int(shape[1]), DEPTH // element
    if n not in (COLUMNS_OF_BYTES if element == 1 else COLUMNS) or int(shape[2]) != k:
        raise Unsupported(f".{words[3]} of {types[1]}")
    if others and total is not np.int32:
        raise Unsupported(".satfinite")

    target, a, b, scale, *flags = i.operands
    in_registers = isinstance(a, Vector)
    if len(flags) != immediates - (in_registers and element == 2):
        raise Unsupported(f"{len(flags)} operands after scale-d")
    values = [flag.value if isinstance(flag, Immediate) else None for flag in flags]
    signs, turned = values[:2], [0] * (in_registers or element != 2) + values[2:]
    if not {-1, 1}.issuperset(signs) or not {0, 1}.issuperset(turned):
        raise Unsupported("a scale other than 1 and -1, or a transposition other than 0 and 1")
    sign_a, sign_b = signs or (1, 1)
    major_a, major_b = ["MN" if turn else "K" for turn in [*turned, 0][:2]]

    slots, per_word = at.slots, 4 // np.dtype(total).itemsize
    if not isinstance(target, Vector) or len(target.elements) != n // 2 // per_word:
        raise Unsupported(f"{n // 2 // per_word} registers are needed for the product")
    if in_registers and len(a.elements) != 4:
        raise Unsupported("four registers are needed for A")
    readers = [slots.reader(each, np.uint32) for each in target.elements]
    writers = [slots.writer(each, np.uint32) for each in target.elements]
    factors = [slots.reader(each, np.uint32) for each in a.elements] if in_registers else []
    a_of = None if in_registers else slots.reader(a, np.uint64)
    b_of, scale_of = slots.reader(b, np.uint64), slots.reader(scale, np.bool_)
    pair = 2 // per_word  # words of two columns of the product
    tile_a, tile_b = (ROWS, k, element, major_a), (n, k, element, major_b)

    def run(state, mask):
        team = Team(state, mask, i)
        tiles = [] if in_registers else [team.tile("A", a_of, tile_a)]
        tiles.append(team.tile("B", b_of, tile_b))
        if in_registers:
            first = from_registers(team.all(factors), 1).view(f"u{element}")
        else:
            first = team.load(tiles[0])
        second = team.load(tiles[-1])
        sums = from_registers(team.all(readers), pair).view(total)
        keep = team.same("scale-d", scale_of)
        sums = np.where(keep[:, None, None], sums, total(0))
        left = numbers(first, types[1], sign_a)
        right = numbers(second, types[2], sign_b).swapaxes(1, 2)
        result = np.ascontiguousarray(tensor_core(left, right, sums, kind, bool(others)))
        found = to_registers(result.view(np.uint32), pair)
        for write, value in zip(writers, found):
            write(state.registers, team.spread(value), mask)
        if state.sink is not None:
            team.announce(tiles)

    return warp.gather(run, complete(i), i, at, "not all 128 threads of the warpgroup come here")


def numbers(bits: np.ndarray, kind: str, sign: int) -> np.ndarray:
    """Elements given as unsigned integers, as `tensor_core` takes them, negated where the sign is
    -1."""
    if kind in ("s8", "u8"):
        return bits.view({"s8": np.int8, "u8": np.uint8}[kind])
    if sign < 0:
        bits = bits ^ bits.dtype.type(1 << 8 * bits.itemsize - 1)
    return bits.view({"f16": np.float16, "tf32": np.float32}.get(kind, bits.dtype))


def from_registers(words: np.ndarray, pair: int) -> np.ndarray:
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


def to_registers(matrix: np.ndarray, pair: int) -> np.ndarray:
    """The inverse of `from_registers`."""
    groups, _, width = matrix.shape
    split = matrix.reshape(groups, 4, 2, 8, width // (4 * pair), 4, pair)
    return split.transpose(4, 2, 6, 0, 1, 3, 5).reshape(width // 2, groups, THREADS)


def complete(i: Instruction):
    """A function (state, here) -> bool (B, T): the threads whose warpgroup is here as a whole."""

    def find(state, here):
        blocks, threads = state.shape
        whole = threads // THREADS * THREADS
        if here[:, whole:].any():
            raise PTXError(
                f"a warpgroup is {THREADS} threads, of which the last one of this block of "
                f"{threads} has {threads - whole}",
                instruction=i,
                thread=state.first_thread(here),
            )
        groups = here[:, :whole].reshape(blocks, -1, THREADS)
        alive = state.alive[:, :whole].reshape(groups.shape)
        lost = groups.any(-1) & ~alive.all(-1)
        if lost.any():
            b, group = np.argwhere(lost)[0].tolist()
            raise PTXError(
                f"{int((~alive[b, group]).sum())} threads of the warpgroup have exited, and all "
                f"{THREADS} must come here",
                instruction=i,
                thread=state.describe_thread(b, group * THREADS + int(groups[b, group].argmax())),
            )
        found = np.zeros(state.shape, bool)
        found[:, :whole] = groups.all(-1).repeat(THREADS, 1)
        return found

    return find


class Tile(NamedTuple):
    """A tile of A or B of each warpgroup: the descriptors that there are, which of them each
    warpgroup has, and how many rows and so on a tile has."""

    name: str
    descriptors: list[Descriptor]
    which: np.ndarray  # (G,)
    shape: tuple[int, int, int, str]


class Team:
    """The G warpgroups that run an instruction together."""

    def __init__(self, state, mask, i: Instruction):
        self.state, self.mask, self.i = state, mask, i
        blocks, threads = state.shape
        self.per_block = threads // THREADS
        self.whole = self.per_block * THREADS
        if mask is None:
            taking_part = np.ones((blocks, self.per_block), bool)
        else:
            taking_part = state.full(mask)[:, : self.whole : THREADS]
        self.every = bool(taking_part.all())
        self.blocks, self.groups = np.nonzero(taking_part)

    def pick(self, value) -> np.ndarray:
        """What broadcasts to (B, T) -> (G, 128)."""
        blocks = self.state.shape[0]
        found = np.broadcast_to(value, self.state.shape)[:, : self.whole]
        found = found.reshape(blocks, self.per_block, THREADS)
        shape = -1, THREADS
        return found.reshape(shape) if self.every else found[self.blocks, self.groups]

    def spread(self, value) -> np.ndarray:
        """The inverse, with anything for the others."""
        blocks, threads = self.state.shape
        if self.every and threads == self.whole:
            return value.reshape(blocks, threads)
        found = np.zeros((blocks, threads), value.dtype)
        view = found[:, : self.whole].reshape(blocks, self.per_block, THREADS)
        view[self.blocks, self.groups] = value
        found[:, : self.whole] = view.reshape(blocks, self.whole)
        return found

    def all(self, readers) -> np.ndarray:
        return np.stack([self.pick(read(self.state.registers)) for read in readers])

    def thread(self, group: int, lane: int = 0) -> str:
        first = int(self.groups[group]) * THREADS
        return self.state.describe_thread(int(self.blocks[group]), first + lane)

    def same(self, name: str, read) -> np.ndarray:
        """(G,): the value that all threads of a warpgroup have."""
        value = read(self.state.registers)
        if value.size == 1:
            return np.full(len(self.blocks), value.flat[0])
        each = self.pick(value)
        if (each != each[:, :1]).any():
            group, lane = np.argwhere(each != each[:, :1])[0].tolist()
            first, other = (int(each[group, n]) for n in (0, lane))
            raise PTXError(
                f"{name} must be the same in all threads of a warpgroup; its first thread has "
                f"{first:#x}, this one {other:#x}",
                instruction=self.i,
                thread=self.thread(group, lane),
            )
        return each[:, 0]

    def tile(self, name: str, read, shape) -> Tile:
        bits, which = np.unique(self.same(f"the descriptor of {name}", read), return_inverse=True)
        try:
            return Tile(name, [decoded(each) for each in bits.tolist()], which.reshape(-1), shape)
        except ValueError as error:
            raise PTXError(str(error), instruction=self.i, thread=self.thread(0)) from None

    def load(self, tile: Tile) -> np.ndarray:
        """The elements of a tile, unsigned (G, rows, k)."""
        rows, k, element, major = tile.shape
        space = self.state.spaces["shared"]
        each = np.stack([units(d, *tile.shape) for d in tile.descriptors])
        outside = [space.check(address, None, 16, 16) for address in each]
        for n, wrong in enumerate(outside):
            if wrong is not None:
                self.fault(tile, n, each[n], wrong)
        first = np.broadcast_to(space.row, (self.state.shape[0], 1))[self.blocks, 0]
        index = (each[tile.which] + first[:, None, None]) >> 4
        found = space.views[8].reshape(-1, 2).take(index, axis=0, mode="clip")
        for n, wrong in enumerate(outside):
            if wrong is not None:
                found[(tile.which == n)[:, None, None] & wrong] = np.uint64(NOBODY)
        found = found.view(f"u{element}").reshape(len(found), len(each[0]), -1)
        return found if major == "K" else found.swapaxes(1, 2)

    def fault(self, tile: Tile, n: int, address, wrong) -> None:
        """Bytes that belong to no variable: raise, or tell the sink, of a tolerant run."""
        state, space = self.state, self.state.spaces["shared"]
        bad = int(address[wrong].min())
        hit = np.flatnonzero(tile.which == n)
        if not state.tolerant:
            raise MemoryFault(
                f"wgmma reads {tile.name} out of bounds of shared memory: {space.describe(bad)}; "
                f"its descriptor has {tile.descriptors[n]}",
                instruction=self.i,
                thread=self.thread(hit[0]),
            )
        mask = np.zeros(state.shape, bool)
        mask[self.blocks[hit], self.groups[hit] * THREADS] = True
        where = np.full((1, 1), bad)
        place = (state.blocks, state.shape[1], state.steps)
        state.sink(Fault(self.i, "load", "shared", 16, 16, where, mask, *place))

    def announce(self, tiles: list[Tile]) -> None:
        """Tell the sink of the products, and, once their group is waited for, that they are
        done."""
        state, count = self.state, len(self.blocks)
        tickets = state.tickets(count)
        operations, starts, sizes = [], [], []
        for tile in tiles:
            for n, descriptor in enumerate(tile.descriptors):
                start, size = stretches(descriptor, *tile.shape)
                mine = np.flatnonzero(tile.which == n)
                operations.append(mine.repeat(len(start)))
                starts.append(np.tile(start, len(mine)))
                sizes.append(np.tile(size, len(mine)))
        operation = np.concatenate(operations)
        rows = self.blocks[operation]
        parts = np.concatenate(starts), np.concatenate(sizes)
        reads = Stretches("shared", operation, rows, *parts)
        place = state.blocks, state.shape[1]
        first = self.groups * THREADS
        state.sink(Started(self.i, tickets, self.blocks, first, (reads,), (), *place, state.steps))

        def finish(done):
            mine = self.pick(done).any(1)
            event = Finished(self.i, tickets[mine], False, None, None, done, *place, state.steps)
            state.sink(event)

        state.products.add(finish, state.full(self.mask))


def plain(i: Instruction, at):
    """wgmma.fence: nothing to do where a product is computed at once."""
    if i.modifiers[1:] != ("sync", "aligned"):
        raise Unsupported(".".join(i.modifiers))
    return lambda state, mask: None


def commit_group(i: Instruction, at):
    plain(i, at)
    return lambda state, mask: state.products.commit(state.full(mask))


def wait_group(i: Instruction, at):
    plain(i, at)
    pending = int(i.operands[0].value)

    def execute(state, mask):
        for finish, threads in state.products.older(state.full(mask), pending):
            finish(threads)

    return execute


def set_registers(i: Instruction, at):
    """setmaxnreg: how many registers a thread may have from here on. Nothing to compute."""
    how, *words = i.modifiers
    if how not in ("inc", "dec") or words != ["sync", "aligned", "u32"]:
        raise Unsupported(".".join(i.modifiers))
    count = i.operands[0].value
    if count not in range(24, 257, 8):
        raise Unsupported(f"{count} registers: they are a multiple of 8, from 24 to 256")
    return lambda state, mask: None


PRODUCTS = {"wgmma.mma_async": multiply}
GROUPS = {
    "wgmma.fence": plain,
    "wgmma.commit_group": commit_group,
    "wgmma.wait_group": wait_group,
    "setmaxnreg": set_registers,
}
