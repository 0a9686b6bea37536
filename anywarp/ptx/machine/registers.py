"""Slots: where registers, literals and symbols live, and how instructions reach them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from ..aliases import Array, DType, Elementwise, Execute, Mask, Operand, State
from ..memory.allocations import UNSIGNED
from ..text.forms import elements, refuse
from ..text.syntax import TYPE_BYTES, Address, Function, Immediate, Instruction, Register, Symbol

# Slots by key, (function name, register or symbol) or what all functions share: their number, and a
# function (state, symbols, dynamic) -> array
Table = dict[tuple[Any, ...], tuple[int, Callable[..., Any]]]


class Slots:
    """The register table of a program, seen from one of its functions.

    `reader` and `writer` turn an operand into a function of the list of arrays; `initial` makes
    that list for a chunk. Literals and addresses are slots too, so that reading is one thing.
    `of` is the same table seen from another function, which has its own registers.
    """

    def __init__(
        self, function: Function, addresses: Container[str], table: Table | None = None
    ) -> None:
        self.function = function
        self.table: Table = {} if table is None else table
        self.addresses = addresses  # names of symbols that every function can take
        self.own = {v.name for v in function.variables if v.space in ("local", "param")}
        self.own |= {p.name for p in (*function.params, *function.results)}
        self.answers: dict[str, tuple[int, int]] = {}  # what `register` has answered

    def of(self, function: Function) -> Slots:
        return Slots(function, self.addresses, self.table)

    def slot(self, key: Any, maker: Any) -> int:
        return self.table.setdefault(key, (len(self.table), maker))[0]

    @functools.cached_property
    def frame(self) -> tuple[list[int], list[tuple[int, str, int]]]:
        """What a recursive call must keep: the slots of the function's registers and, as (slot,
        name, offset), of the addresses in its frame."""
        registers, addresses = [], []
        for key, (at, _) in self.table.items():
            if key[0] == self.function.name:
                if isinstance(key[1], Symbol):
                    addresses.append((at, key[1].name, key[1].offset))
                else:
                    registers.append(at)
        return registers, addresses

    # -- reading --------------------------------------------------------------------------

    def reader(self, operand: Operand, dtype: DType) -> Any:
        """A function registers -> array of dtype."""
        dtype = np.dtype(dtype)
        if isinstance(operand, Immediate):
            value = literal(operand, dtype)
            at = self.slot((None, operand, dtype), lambda *_: value)
            return lambda registers: registers[at]
        if isinstance(operand, Symbol):
            at = self.symbol(operand, dtype)
            return lambda registers: registers[at]
        refuse(not isinstance(operand, Register), "an operand of this form")
        if operand.name.startswith("!"):
            read = self.reader(Register(operand.name[1:]), dtype)
            return lambda registers: ~read(registers)
        at, size = self.register(operand.name)
        if dtype.itemsize == size:

            def read(registers: Array) -> Any:
                value = registers[at]
                return value if value.dtype is dtype else value.view(dtype)

            return read
        refuse(dtype.itemsize > size, f"{operand.name} is narrower than the operation")
        refuse(size > 8, f"a part of {operand.name}")
        whole, low = UNSIGNED[size], UNSIGNED[dtype.itemsize]
        return lambda registers: registers[at].view(whole).astype(low).view(dtype)

    def readers(self, operand: Operand, count: int, dtype: DType) -> list[Any]:
        """A reader for each element of a vector, of which there must be so many."""
        return [self.reader(each, dtype) for each in elements(operand, count)]

    def symbol(self, operand: Symbol, dtype: DType) -> int:
        """The slot of a variable's or function's address."""
        if operand.name == "WARP_SZ":
            return self.slot((operand, dtype), lambda *_: uniform(32 + operand.offset, dtype))
        name = (self.function.name, operand.name) if operand.name in self.own else operand.name
        refuse(name == operand.name and name not in self.addresses, f"{name} is not declared")
        key = (self.function.name if name != operand.name else None, operand, dtype)
        place = lambda symbols: symbols[name] + operand.offset & (1 << 64) - 1
        return self.slot(key, lambda _, symbols, __: uniform(place(symbols), "u8").astype(dtype))

    def address(self, operand: Operand) -> Callable[..., Any]:
        """A function registers -> int64 byte addresses."""
        base = operand.base if isinstance(operand, Address) else operand
        offset = np.int64(operand.offset if isinstance(operand, Address) else 0)
        if isinstance(base, Register):
            size = self.register(base.name)[1]
            read = self.reader(base, UNSIGNED[size])
        else:
            read = self.reader(base, np.uint64)
        if offset > 0 and isinstance(base, Register) and size == 4:
            # modulo 2 to the 32: the register alone may lie before the memory
            narrow = np.uint32(offset)
            return lambda registers: (read(registers) + narrow).astype(np.int64)
        if offset:
            return lambda registers: read(registers).astype(np.int64) + offset
        return lambda registers: read(registers).astype(np.int64, copy=False)

    def nothing(self, name: str) -> tuple[int, Array]:
        """The slot of a declared register and what it holds before anything is written."""
        self.register(name)
        at, make = self.table[self.function.name, name]
        return at, make()

    def guard(self, instruction: Instruction) -> Any:
        read = self.reader(instruction.guard, np.bool_)
        return (lambda registers: ~read(registers)) if instruction.guard_negated else read

    # -- writing --------------------------------------------------------------------------

    def writer(self, operand: Operand, dtype: DType) -> Callable[..., Any]:
        """A function (registers, value, mask): threads outside the mask keep what they had."""
        if operand == Symbol("_"):
            return lambda registers, value, mask: None
        refuse(not isinstance(operand, Register), "a destination that is not a register")
        at, size = self.register(operand.name)
        dtype = np.dtype(dtype)
        refuse(dtype.itemsize > size, f"{operand.name} is narrower than the result")
        widen = dtype.itemsize < size  # sign or zero extension
        refuse(widen and size > 8, f"a part of {operand.name}")
        extended = f"{'i' if dtype.kind == 'i' else 'u'}{size}"

        def write(registers: Array, value: Array, mask: Mask) -> None:
            if widen:
                unsigned = UNSIGNED[dtype.itemsize]
                value = value if value.dtype.kind in "iu" else value.view(unsigned)
                value = value.astype(extended)
            if mask is not None:
                before = registers[at].view(value.dtype)
                value = np.where(mask, value, before)
            registers[at] = value

        return write

    def writers(self, operand: Operand, count: int, dtype: DType) -> list[Any]:
        """A writer for each element of a vector, of which there must be so many."""
        return [self.writer(each, dtype) for each in elements(operand, count)]

    # -- what there is --------------------------------------------------------------------

    def register(self, name: str) -> tuple[int, int]:
        """(slot, bytes) of a declared or special register."""
        if name not in self.answers:
            self.answers[name] = self._register(name)
        return self.answers[name]

    def _register(self, name: str) -> tuple[int, int]:
        if name in self.function.registers:
            kind = self.function.registers[name]
            size = TYPE_BYTES[kind]
            dtype = np.bool_ if kind == "pred" else UNSIGNED.get(size)
            refuse(dtype is None, f"a register of type .{kind}")
            nothing = unwritten(dtype)
            return self.slot((self.function.name, name), lambda *_: nothing), size
        refuse(name not in SPECIAL, f"register {name}")
        return self.slot(("", name), SPECIAL[name]), SPECIAL_BYTES.get(name, 4)


@functools.cache
def unwritten(dtype: DType) -> Array:
    """What every register of a type holds before anything is written: registers are replaced, not
    written to, so that one array does for all."""
    nothing = np.zeros((1, 1), dtype)
    nothing.flags.writeable = False
    return nothing


def literal(operand: Immediate, dtype: np.dtype) -> Array:
    """A literal as a (1, 1) array of the type. Raises Unsupported for a float as bits."""
    if dtype == np.bool_:
        return np.full((1, 1), bool(operand.value))
    if dtype.kind == "f":
        return np.full((1, 1), operand.value, dtype)
    bits: Any = operand.value if operand.bits is None else operand.bits
    refuse(not isinstance(bits, int), "a float literal in an integer operation")
    unsigned = UNSIGNED[dtype.itemsize]
    return np.full((1, 1), bits & (1 << 8 * dtype.itemsize) - 1, unsigned).view(dtype)


# -- special registers, PTX ISA chapter 10 ----------------------------------------------------


# Where cooperative groups keep the barriers of tiles of several warps: PTX ISA, chapter 10
RESERVED = "%reserved_smem_offset_1"
SMS = 132  # multiprocessors of an H200


def uniform(value: Any, dtype: DType = np.uint32) -> Any:
    """A register with one value in all threads."""
    return np.full((1, 1), value, dtype)


def everywhere(value_of: Any) -> Callable[..., Any]:
    """A special register with one value, which `value_of(state)` gives."""
    return lambda state, *_: uniform(value_of(state))


def coordinate(number: Array, extents: Any, axis: int) -> Any:
    """One of the three coordinates of what is counted x first."""
    x, y, _ = extents
    return (number % x, number // x % y, number // (x * y))[axis].astype(np.uint32)


def block_index(state: State, axis: int) -> Any:
    """%ctaid: (B, 1)."""
    return coordinate(state.blocks, state.grid, axis)[:, None]


def in_clusters(state: State, axis: int) -> Any:
    """Of a block, %clusterid and %cluster_ctaid: (B, 1)."""
    return np.divmod(block_index(state, axis), np.uint32(state.launch.cluster[axis]))


def cluster_rank(state: State, *_: Any) -> Any:
    """Blocks of a cluster are neighbours in a chunk, in the order of their ranks."""
    return (np.arange(state.shape[0], dtype=np.uint32) % state.launch.cluster.size)[:, None]


def from_lane(function: Elementwise) -> Callable[..., Any]:
    """A register that depends on the lane alone, given as uint64: (1, T)."""
    lanes = lambda state: np.arange(state.shape[1], dtype=np.uint64) % np.uint64(32)
    return lambda state, *_: function(lanes(state))[None, :].astype(np.uint32)


def by_axis(name: str, value_of: Any) -> dict[Any, Any]:
    """The registers `name`.x, .y and .z, as `value_of(state, 0)` and so on gives them."""
    make = lambda n: lambda state, *_: np.atleast_2d(value_of(state, n)).astype(np.uint32)
    return {f"%{name}.{axis}": make(n) for n, axis in enumerate("xyz")}


BIT = lambda lane: np.uint64(1) << lane
BELOW = lambda lane: BIT(lane) - np.uint64(1)  # the bits of all lower lanes
LOW = lambda ticks: uniform(ticks & 0xFFFFFFFF)
HIGH = lambda ticks: uniform(ticks >> 32)
WHOLE = lambda ticks: uniform(ticks, np.uint64)
CLOCKS = {  # instructions run -> what they show; refreshed wherever they are read
    "%clock": LOW,
    "%clock_hi": HIGH,
    "%clock64": WHOLE,
    "%globaltimer": WHOLE,
    "%globaltimer_lo": LOW,
    "%globaltimer_hi": HIGH,
}
SPECIAL = {
    **by_axis("tid", lambda state, n: coordinate(np.arange(state.shape[1]), state.block, n)),
    **by_axis("ctaid", block_index),
    **by_axis("ntid", lambda state, n: state.block[n]),
    **by_axis("nctaid", lambda state, n: state.grid[n]),
    "%laneid": from_lane(lambda lane: lane),
    "%lanemask_eq": from_lane(BIT),
    "%lanemask_lt": from_lane(BELOW),
    "%lanemask_le": from_lane(lambda lane: BIT(lane) | BELOW(lane)),
    "%lanemask_gt": from_lane(lambda lane: ~(BIT(lane) | BELOW(lane))),
    "%lanemask_ge": from_lane(lambda lane: ~BELOW(lane)),
    "%warpid": lambda state, *_: np.arange(state.shape[1], dtype=np.uint32)[None, :] >> 5,
    "%nwarpid": everywhere(lambda state: -(-state.shape[1] // 32)),
    # blocks go round the multiprocessors of a GPU with 132 of them
    "%smid": lambda state, *_: (state.blocks % SMS).astype(np.uint32)[:, None],
    "%nsmid": everywhere(lambda state: SMS),
    "%gridid": lambda *_: WHOLE(0),
    "%dynamic_smem_size": lambda state, symbols, dynamic: uniform(dynamic),
    RESERVED: lambda state, symbols, dynamic: uniform(symbols[RESERVED]),
    "%total_smem_size": everywhere(lambda state: state.launch.shared_size),
    # without clusters, every block is a cluster of its own
    **by_axis("cluster_ctaid", lambda state, n: in_clusters(state, n)[1]),
    **by_axis("cluster_nctaid", lambda state, n: state.launch.cluster[n]),
    **by_axis("clusterid", lambda state, n: in_clusters(state, n)[0]),
    **by_axis("nclusterid", lambda state, n: state.grid[n] // state.launch.cluster[n]),
    "%cluster_ctarank": cluster_rank,
    "%cluster_nctarank": everywhere(lambda state: state.launch.cluster.size),
    "%is_explicit_cluster": lambda state, *_: uniform(state.launch.cluster.explicit, np.bool_),
    **{f"%envreg{n}": everywhere(lambda state: 0) for n in range(32)},
    # CUDA's driver puts an address there: cooperative_groups/details/driver_abi.h
    "%envreg1": everywhere(lambda state: state.launch.workspace >> 32),
    "%envreg2": everywhere(lambda state: state.launch.workspace & 0xFFFFFFFF),
    **{name: lambda *_, shown=shown: shown(0) for name, shown in CLOCKS.items()},
}
SPECIAL_BYTES = {"%gridid": 8, "%clock64": 8, "%globaltimer": 8, "%is_explicit_cluster": 1}


def with_clocks(execute: Execute, i: Instruction, slots: Slots, before_end: int) -> Any:
    """An instruction that reads a clock: instructions run so far, this one counted. The block
    that it stands in has been counted whole, `before_end` instructions too many."""
    read = {o.name for o in i.operands if isinstance(o, Register) and o.name in CLOCKS}
    if not read:
        return execute
    tables = [(slots.register(name)[0], CLOCKS[name]) for name in sorted(read)]

    def run(state: State, mask: Mask) -> None:
        for at, ticks in tables:
            state.registers[at] = ticks(state.earlier + state.steps - before_end)
        execute(state, mask)

    return run
