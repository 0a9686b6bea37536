"""Slots: where registers, literals and symbols live, and how instructions reach them."""

from __future__ import annotations

import numpy as np

from .forms import Unsupported
from .memory import UNSIGNED
from .syntax import TYPE_BYTES, Address, Entry, Immediate, Register, Symbol


class Slots:
    """The register table of an entry.

    `reader` and `writer` turn an operand into a function of the list of arrays; `initial` makes
    that list for a chunk. Literals and addresses are slots too, so that reading is one thing.
    """

    def __init__(self, entry: Entry):
        self.entry = entry
        self.index: dict = {}  # Register name, or (literal or symbol, type) -> slot
        self.makers: list = []  # slot -> function (state, symbols, dynamic) -> array

    def slot(self, key, maker) -> int:
        if key not in self.index:
            self.index[key] = len(self.makers)
            self.makers.append(maker)
        return self.index[key]

    def initial(self, state, symbols: dict[str, int], dynamic_shared: int) -> list[np.ndarray]:
        return [make(state, symbols, dynamic_shared) for make in self.makers]

    # -- reading --------------------------------------------------------------------------

    def reader(self, operand, dtype):
        """A function registers -> array of dtype."""
        dtype = np.dtype(dtype)
        if isinstance(operand, Immediate):
            value = literal(operand, dtype)
            at = self.slot((operand, dtype), lambda *_: value)
            return lambda registers: registers[at]
        if isinstance(operand, Symbol):
            at = self.slot(
                (operand, dtype),
                lambda state, symbols, _: np.full(
                    (1, 1), symbols[operand.name] + operand.offset, dtype
                ),
            )
            return lambda registers: registers[at]
        if not isinstance(operand, Register):
            raise Unsupported("an operand of this form")
        if operand.name.startswith("!"):
            read = self.reader(Register(operand.name[1:]), dtype)
            return lambda registers: ~read(registers)
        at, size = self.register(operand.name)
        if dtype.itemsize == size:
            return lambda registers: registers[at].view(dtype)
        if dtype.itemsize > size:
            raise Unsupported(f"{operand.name} is narrower than the operation")
        whole, low = UNSIGNED[size], UNSIGNED[dtype.itemsize]
        return lambda registers: registers[at].view(whole).astype(low).view(dtype)

    def address(self, operand):
        """A function registers -> int64 byte addresses."""
        base = operand.base if isinstance(operand, Address) else operand
        offset = np.int64(operand.offset if isinstance(operand, Address) else 0)
        if isinstance(base, Register):
            size = self.register(base.name)[1]
            read = self.reader(base, UNSIGNED[size])
        else:
            read = self.reader(base, np.uint64)
        if offset:
            return lambda registers: read(registers).astype(np.int64) + offset
        return lambda registers: read(registers).astype(np.int64, copy=False)

    def guard(self, instruction):
        read = self.reader(instruction.guard, np.bool_)
        return (lambda registers: ~read(registers)) if instruction.guard_negated else read

    # -- writing --------------------------------------------------------------------------

    def writer(self, operand, dtype):
        """A function (registers, value, mask): threads outside the mask keep what they had."""
        if operand == Symbol("_"):
            return lambda registers, value, mask: None
        if not isinstance(operand, Register):
            raise Unsupported("a destination that is not a register")
        at, size = self.register(operand.name)
        dtype = np.dtype(dtype)
        extended = np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{size}")
        if dtype.itemsize > size:
            raise Unsupported(f"{operand.name} is narrower than the result")
        widen = dtype.itemsize < size  # sign or zero extension

        def write(registers, value, mask):
            if widen:
                unsigned = UNSIGNED[dtype.itemsize]
                value = (value if value.dtype.kind in "iu" else value.view(unsigned)).astype(
                    extended
                )
            if mask is not None:
                value = np.where(mask, value, registers[at].view(value.dtype))
            registers[at] = value

        return write

    # -- what there is --------------------------------------------------------------------

    def register(self, name: str) -> tuple[int, int]:
        """(slot, bytes) of a declared or special register."""
        if name in self.entry.registers:
            kind = self.entry.registers[name]
            size = TYPE_BYTES[kind]
            dtype = np.bool_ if kind == "pred" else UNSIGNED.get(size)
            if dtype is None:
                raise Unsupported(f"a register of type .{kind}")
            return self.slot(name, lambda *_: np.zeros((1, 1), dtype)), size
        if name in SPECIAL:
            return self.slot(name, SPECIAL[name]), 4
        if name in SPECIAL_64:
            return self.slot(name, SPECIAL_64[name]), 8
        raise Unsupported(f"register {name}")


def literal(operand: Immediate, dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.full((1, 1), bool(operand.value))
    if dtype.kind == "f":
        return np.full((1, 1), operand.value, dtype)
    bits = operand.value if operand.bits is None else operand.bits
    if not isinstance(bits, int):
        raise Unsupported("a float literal in an integer operation")
    return np.full((1, 1), bits & (1 << 8 * dtype.itemsize) - 1, UNSIGNED[dtype.itemsize]).view(
        dtype
    )


# -- special registers, PTX ISA chapter 10 ----------------------------------------------------


def uniform(value):
    return np.full((1, 1), value, np.uint32)


def thread_index(axis: int):
    def make(state, *_):
        x, y, _ = state.block
        t = np.arange(state.shape[1], dtype=np.uint32)
        return (t % x, t // x % y, t // (x * y))[axis].astype(np.uint32)[None, :]

    return make


def block_index(axis: int):
    def make(state, *_):
        x, y, _ = state.grid
        b = state.blocks
        return (b % x, b // x % y, b // (x * y))[axis].astype(np.uint32)[:, None]

    return make


def from_lane(function):
    """A register that depends on the lane alone."""
    return lambda state, *_: function(np.arange(state.shape[1], dtype=np.uint32) % 32)[
        None, :
    ].astype(np.uint32)


SPECIAL = {
    **{f"%tid.{axis}": thread_index(n) for n, axis in enumerate("xyz")},
    **{f"%ctaid.{axis}": block_index(n) for n, axis in enumerate("xyz")},
    **{
        f"%ntid.{axis}": lambda state, *_, n=n: uniform(state.block[n])
        for n, axis in enumerate("xyz")
    },
    **{
        f"%nctaid.{axis}": lambda state, *_, n=n: uniform(state.grid[n])
        for n, axis in enumerate("xyz")
    },
    "%laneid": from_lane(lambda lane: lane),
    "%lanemask_eq": from_lane(lambda lane: np.uint32(1) << lane),
    "%lanemask_lt": from_lane(lambda lane: (np.uint32(1) << lane) - np.uint32(1)),
    "%lanemask_le": from_lane(lambda lane: (np.uint64(2) << lane.astype(np.uint64)) - np.uint64(1)),
    "%lanemask_gt": from_lane(
        lambda lane: ~((np.uint64(2) << lane.astype(np.uint64)) - np.uint64(1))
    ),
    "%lanemask_ge": from_lane(lambda lane: ~((np.uint32(1) << lane) - np.uint32(1))),
    "%warpid": lambda state, *_: (np.arange(state.shape[1], dtype=np.uint32) // np.uint32(32))[
        None, :
    ],
    "%nwarpid": lambda state, *_: uniform(-(-state.shape[1] // 32)),
    "%dynamic_smem_size": lambda state, symbols, dynamic: uniform(dynamic),
}
SPECIAL_64 = {
    "%gridid": lambda *_: np.zeros((1, 1), np.uint64),
}
