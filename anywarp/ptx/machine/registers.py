"""Slots: where registers, literals and symbols live, and how instructions reach them."""

from __future__ import annotations

import functools
from collections.abc import Container

import numpy as np

from ..memory.allocations import UNSIGNED
from ..text.forms import Unsupported, refuse
from ..text.syntax import TYPE_BYTES, Address, Function, Immediate, Register, Symbol


class _Table:
    """Slots by key: (function name, register or symbol), or what all functions share."""

    def __init__(self):
        self.index: dict[tuple, int] = {}
        self.makers: list = []  # slot -> function (state, symbols, dynamic) -> array

    def slot(self, key: tuple, maker) -> int:
        if key not in self.index:
            self.index[key] = len(self.makers)
            self.makers.append(maker)
        return self.index[key]


class Slots:
    """The register table of a program, seen from one of its functions.

    `reader` and `writer` turn an operand into a function of the list of arrays; `initial` makes
    that list for a chunk. Literals and addresses are slots too, so that reading is one thing.
    `of` is the same table seen from another function, which has its own registers.
    """

    def __init__(self, function: Function, addresses: Container[str], table: _Table | None = None):
        self.function = function
        self.table = table or _Table()
        self.addresses = addresses  # names of symbols that every function can take
        self.own = {v.name for v in function.variables if v.space in ("local", "param")}
        self.own |= {p.name for p in (*function.params, *function.results)}
        self.found: dict[str, tuple[int, int]] = {}  # what `register` has answered

    def of(self, function: Function) -> Slots:
        return Slots(function, self.addresses, self.table)

    def slot(self, key, maker) -> int:
        return self.table.slot(key, maker)

    def initial(self, state, symbols: dict, shared_mem: int) -> list[np.ndarray]:
        return [make(state, symbols, shared_mem) for make in self.table.makers]

    @functools.cached_property
    def frame(self) -> tuple[list[int], list[tuple[int, str, int]]]:
        """What a recursive call must keep: the slots of the function's registers and, as (slot,
        name, offset), of the addresses in its frame."""
        registers, addresses = [], []
        for key, at in self.table.index.items():
            if key[0] == self.function.name:
                if isinstance(key[1], Symbol):
                    addresses.append((at, key[1].name, key[1].offset))
                else:
                    registers.append(at)
        return registers, addresses

    # -- reading --------------------------------------------------------------------------

    def reader(self, operand, dtype):
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

            def read(registers):
                value = registers[at]
                return value if value.dtype is dtype else value.view(dtype)

            return read
        refuse(dtype.itemsize > size, f"{operand.name} is narrower than the operation")
        whole, low = UNSIGNED[size], UNSIGNED[dtype.itemsize]
        return lambda registers: registers[at].view(whole).astype(low).view(dtype)

    def symbol(self, operand: Symbol, dtype) -> int:
        """The slot of a variable's or function's address."""
        if operand.name == "WARP_SZ":
            return self.slot(("WARP_SZ", dtype), lambda *_: np.full((1, 1), 32, dtype))
        name = (self.function.name, operand.name) if operand.name in self.own else operand.name
        refuse(name == operand.name and name not in self.addresses, f"{name} is not declared")
        key = (self.function.name if name != operand.name else None, operand, dtype)
        return self.slot(
            key,
            lambda state, symbols, _: np.full((1, 1), symbols[name] + operand.offset, dtype),
        )

    def address(self, operand):
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

    def nothing(self, name: str) -> tuple[int, np.ndarray]:
        """The slot of a declared register and what it holds before anything is written."""
        at = self.register(name)[0]
        return at, self.table.makers[at]()

    def guard(self, instruction):
        read = self.reader(instruction.guard, np.bool_)
        return (lambda registers: ~read(registers)) if instruction.guard_negated else read

    # -- writing --------------------------------------------------------------------------

    def writer(self, operand, dtype):
        """A function (registers, value, mask): threads outside the mask keep what they had."""
        if operand == Symbol("_"):
            return lambda registers, value, mask: None
        refuse(not isinstance(operand, Register), "a destination that is not a register")
        at, size = self.register(operand.name)
        dtype = np.dtype(dtype)
        extended = np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{size}")
        refuse(dtype.itemsize > size, f"{operand.name} is narrower than the result")
        widen = dtype.itemsize < size  # sign or zero extension

        def write(registers, value, mask):
            if widen:
                unsigned = UNSIGNED[dtype.itemsize]
                value = (value if value.dtype.kind in "iu" else value.view(unsigned)).astype(
                    extended
                )
            if mask is not None:
                before = registers[at].view(value.dtype)
                if before.ndim > 2:  # lent by shared memory: see `access.load`
                    before = before.reshape(len(before), -1)
                value = np.where(mask, value, before)
            registers[at] = value

        return write

    # -- what there is --------------------------------------------------------------------

    def register(self, name: str) -> tuple[int, int]:
        """(slot, bytes) of a declared or special register."""
        if name not in self.found:
            self.found[name] = self._register(name)
        return self.found[name]

    def _register(self, name: str) -> tuple[int, int]:
        if name in self.function.registers:
            kind = self.function.registers[name]
            size = TYPE_BYTES[kind]
            dtype = np.bool_ if kind == "pred" else UNSIGNED.get(size)
            refuse(dtype is None, f"a register of type .{kind}")
            nothing = unwritten(dtype)
            return self.slot((self.function.name, name), lambda *_: nothing), size
        if name in SPECIAL:
            return self.slot(("", name), SPECIAL[name]), 4
        if name in SPECIAL_64:
            return self.slot(("", name), SPECIAL_64[name]), 8
        if name in SPECIAL_PREDICATES:
            return self.slot(("", name), SPECIAL_PREDICATES[name]), 1
        raise Unsupported(f"register {name}")


@functools.cache
def unwritten(dtype) -> np.ndarray:
    """What every register of a type holds before anything is written: registers are replaced, not
    written to, so that one array does for all."""
    nothing = np.zeros((1, 1), dtype)
    nothing.flags.writeable = False
    return nothing


def literal(operand: Immediate, dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.full((1, 1), bool(operand.value))
    if dtype.kind == "f":
        return np.full((1, 1), operand.value, dtype)
    bits = operand.value if operand.bits is None else operand.bits
    refuse(not isinstance(bits, int), "a float literal in an integer operation")
    return np.full((1, 1), bits & (1 << 8 * dtype.itemsize) - 1, UNSIGNED[dtype.itemsize]).view(
        dtype
    )


# -- special registers, PTX ISA chapter 10 ----------------------------------------------------


SMS = 132  # multiprocessors of an H200


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


def cluster_index(axis: int):
    return lambda state, *_: block_index(axis)(state) // np.uint32(state.launch.cluster[axis])


def index_in_cluster(axis: int):
    def make(state, *_):
        size = state.launch.cluster[axis]
        return uniform(0) if size == 1 else block_index(axis)(state) % np.uint32(size)

    return make


def cluster_rank(state):
    """Blocks of a cluster are neighbours in a chunk, in the order of their ranks."""
    if state.launch.cluster.size == 1:
        return uniform(0)
    return (np.arange(state.shape[0], dtype=np.uint32) % state.launch.cluster.size)[:, None]


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
    # blocks go round the multiprocessors of a GPU with 132 of them
    "%smid": lambda state, *_: (state.blocks % SMS).astype(np.uint32)[:, None],
    "%nsmid": lambda *_: uniform(SMS),
    "%dynamic_smem_size": lambda state, symbols, dynamic: uniform(dynamic),
    "%total_smem_size": lambda state, *_: uniform(state.launch.shared_size),
    # without clusters, every block is a cluster of its own
    **{f"%cluster_ctaid.{axis}": index_in_cluster(n) for n, axis in enumerate("xyz")},
    **{
        f"%cluster_nctaid.{axis}": lambda state, *_, n=n: uniform(state.launch.cluster[n])
        for n, axis in enumerate("xyz")
    },
    **{f"%clusterid.{axis}": cluster_index(n) for n, axis in enumerate("xyz")},
    **{
        f"%nclusterid.{axis}": lambda state, *_, n=n: uniform(
            state.grid[n] // state.launch.cluster[n]
        )
        for n, axis in enumerate("xyz")
    },
    "%cluster_ctarank": lambda state, *_: cluster_rank(state),
    "%cluster_nctarank": lambda state, *_: uniform(state.launch.cluster.size),
    **{f"%envreg{n}": lambda *_: uniform(0) for n in range(32)},
    "%clock": lambda *_: uniform(0),  # refreshed wherever it is read
    "%clock_hi": lambda *_: uniform(0),
    "%globaltimer_lo": lambda *_: uniform(0),
    "%globaltimer_hi": lambda *_: uniform(0),
}
SPECIAL_64 = {
    "%gridid": lambda *_: np.zeros((1, 1), np.uint64),
    "%clock64": lambda *_: np.zeros((1, 1), np.uint64),
    "%globaltimer": lambda *_: np.zeros((1, 1), np.uint64),
}
SPECIAL_PREDICATES = {
    "%is_explicit_cluster": lambda state, *_: np.full((1, 1), state.launch.cluster.explicit)
}
CLOCKS = {
    "%clock": lambda ticks: np.full((1, 1), ticks & 0xFFFFFFFF, np.uint32),
    "%clock_hi": lambda ticks: np.full((1, 1), ticks >> 32, np.uint32),
    "%clock64": lambda ticks: np.full((1, 1), ticks, np.uint64),
    "%globaltimer": lambda ticks: np.full((1, 1), ticks, np.uint64),
    "%globaltimer_lo": lambda ticks: np.full((1, 1), ticks & 0xFFFFFFFF, np.uint32),
    "%globaltimer_hi": lambda ticks: np.full((1, 1), ticks >> 32, np.uint32),
}


def with_clocks(execute, i, slots: Slots, before_end: int):
    """An instruction that reads a clock: instructions run so far, this one counted. The block
    that it stands in has been counted whole, `before_end` instructions too many."""
    read = {o.name for o in i.operands if isinstance(o, Register) and o.name in CLOCKS}
    if not read:
        return execute
    tables = [(slots.register(name)[0], CLOCKS[name]) for name in sorted(read)]

    def run(state, mask):
        for at, ticks in tables:
            state.registers[at] = ticks(state.earlier + state.steps - before_end)
        execute(state, mask)

    return run
