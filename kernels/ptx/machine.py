"""The machine: decode an entry once, then run all threads of a chunk of blocks together.

A register is one NumPy array of shape (blocks, threads), or of length 1 along an axis on which
it does not vary: a loop counter is (1, 1), an offset made from threadIdx is (1, threads), and
NumPy's broadcasting does the rest. The uniform datapath of the hardware has the same idea.

Threads that diverge wait in `State.ready`, a mask for each program counter; the lowest program
counter runs first, so that they meet again where the paths join. Masks broadcast like registers;
None stands for all threads.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from . import control, flow, isa, memory
from .access import MEMORY, AsyncCopies
from .errors import Deadlock, StepLimit, UnknownOpcode, thread_name
from .events import Executed, Launched
from .forms import Unsupported
from .ops import OPS
from .registers import Slots
from .syntax import Entry, Instruction, Vector

CHUNK_THREADS = 16384  # as many as keep the working set in the L2 cache of a core
MAX_THREADS = 1024  # of a block, on every GPU to date
STEP_LIMIT = 5_000_000
FAR, APART = 1 << 20, 256  # bytes between the arrays of a tolerant run: global, other spaces
PATIENCE = 1024  # turns of the lowest program counter before another has one
SIMPLE = MEMORY | control.SIMPLE  # decoders that take (instruction, slots)


@dataclass
class State:
    """All that changes while a chunk runs."""

    registers: list[np.ndarray]
    spaces: dict[str, memory.Space]
    blocks: np.ndarray  # (B,) linear block numbers
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    sink: object = None
    tolerant: bool = False
    steps: int = 0  # instructions run
    ready: dict[int, np.ndarray | None] = field(default_factory=lambda: {0: None})
    waiting: dict[int, dict] = field(default_factory=dict)  # barrier -> {pc: mask}
    arrived: dict[int, np.ndarray] = field(default_factory=dict)  # bar.arrive counts (B,)
    gathering: dict[int, tuple] = field(default_factory=dict)  # pc of a warp-wide instruction
    # -> (mask of the lanes that wait, instruction)
    copies: AsyncCopies = field(default_factory=AsyncCopies)

    def __post_init__(self):
        x, y, z = self.block
        self.shape = (len(self.blocks), x * y * z)
        self.alive = np.ones(self.shape, bool)

    def full(self, mask) -> np.ndarray:
        """The mask as an array (B, T)."""
        return np.ones(self.shape, bool) if mask is None else np.broadcast_to(mask, self.shape)

    def go(self, pc: int, mask) -> None:
        """Let the threads of the mask continue at pc, with those that are there already."""
        if pc in self.ready and mask is not None:
            mask = self.ready[pc] | mask
        self.ready[pc] = None if mask is None or mask.all() else mask

    def describe_thread(self, b: int, t: int) -> str:
        return thread_name(self.blocks[b], t, self.grid, self.block)


@dataclass(frozen=True)
class BasicBlock:
    """Straight-line code: steps that do not jump, then one that decides where to go."""

    instructions: tuple[Instruction, ...]
    steps: tuple
    end: object


@dataclass(frozen=True, eq=False)
class Program:
    blocks: dict[int, BasicBlock]  # by the index of the first instruction
    slots: Slots


@functools.lru_cache(maxsize=64)
def decode(entry: Entry) -> Program:
    """Bind every instruction to its function. Raises UnknownOpcode."""
    slots = Slots(entry)
    blocks = {}
    for start, stop in ((block.start, block.stop) for block in flow.blocks(entry, waits=True)):
        run = entry.instructions[start:stop]
        if isa.lookup(run[-1]).ends:
            end = bind(run[-1], slots, entry, stop)
            body = run[:-1]
        else:
            end = control.go_to(stop)
            body = run
        blocks[start] = BasicBlock(run, tuple(bind(i, slots, entry, stop) for i in body), end)
    # where labels at the very end lead, and bodies that do without a ret
    blocks[len(entry.instructions)] = BasicBlock((), (), control.exit_threads)
    return Program(blocks, slots)


def bind(i: Instruction, slots: Slots, entry: Entry, following: int):
    """The function `(state, mask)` that runs this instruction."""
    try:
        if i.opcode in control.CONTROL:
            return control.CONTROL[i.opcode](i, slots, entry, following)
        if i.opcode in OPS:
            execute = compute(i, slots)
        elif i.opcode in SIMPLE:
            execute = SIMPLE[i.opcode](i, slots)
        elif i.opcode == "call":
            raise Unsupported("a function that was not inlined, such as printf")
        else:
            raise Unsupported(i.opcode)
        return control.guarded(execute, slots.guard(i), i) if i.guard else execute
    except (Unsupported, IndexError, KeyError) as reason:
        raise UnknownOpcode(
            f"the interpreter does not know {i.text!r} ({reason})", instruction=i
        ) from None


def compute(i: Instruction, slots: Slots):
    """An instruction that only computes: registers in, registers out."""
    op = OPS[i.opcode](i)
    target, *sources = i.operands
    if len(sources) == 1 and isinstance(sources[0], Vector):
        sources = sources[0].elements
    if len(sources) < len(op.sources):
        raise Unsupported("too few operands")
    readers = [slots.reader(s, dtype) for s, dtype in zip(sources, op.sources)]
    function = op.function
    if isinstance(target, Vector):
        writers = [slots.writer(e, op.result) for e in target.elements]

        def execute(state, mask):
            registers = state.registers
            for write, value in zip(writers, function(*[r(registers) for r in readers])):
                write(registers, value, mask)

        return execute
    write = slots.writer(target, op.result)

    def execute(state, mask):
        registers = state.registers
        write(registers, function(*[read(registers) for read in readers]), mask)

    return execute


def run(
    entry: Entry,
    grid,
    block,
    args,
    *,
    dynamic_shared: int = 0,
    sink=None,
    step_limit: int = STEP_LIMIT,
    tolerant: bool = False,
) -> None:
    """Run an entry for a grid of blocks.

    grid, block: 1 to 3 ints, x first. args, one per parameter: a C-contiguous NumPy array for a
    pointer (what the kernel stores is written back into it), a NumPy scalar of the parameter's
    size for a value, bytes for a struct. dynamic_shared: bytes. sink: called with every event
    (see `events`). step_limit: instructions that a chunk of blocks may run. tolerant: with a
    sink, tell it of accesses that are out of bounds or misaligned, and go on without them;
    arrays lie farther apart then, so that fewer of the former end in another array.

    Raises ValueError for a launch that a GPU would refuse, and a PTXError for what goes wrong
    while running.
    """
    grid, block = extent("grid", grid), extent("block", block)
    check_launch(entry, block, args)
    program = decode(entry)
    heap, addresses, arrays = place(entry, args, FAR if tolerant else memory.GUARD)
    const = memory.Space("const", heap.data, heap.row, heap.allocations)  # the same bytes
    apart = APART if tolerant else 0
    params = np.frombuffer(bytearray(pack_params(entry, args, addresses)), np.uint8)
    shared, shared_size = memory.lay_out(
        [v for v in entry.variables if v.space == "shared"], dynamic_shared, apart
    )
    local, local_size = memory.lay_out(
        [v for v in entry.variables if v.space == "local"], guard=apart
    )
    symbols = {a.name: a.start for a in (*heap.allocations, *shared, *local)}
    symbols |= {p.name: p.offset for p in entry.params}
    param = memory.Space(
        "param",
        params,
        np.zeros((1, 1), np.int64),
        [memory.Allocation(p.name, p.offset, p.size) for p in entry.params],
    )
    if sink is not None:
        sink(
            Launched(
                entry,
                grid,
                block,
                {
                    "global": tuple(heap.allocations),
                    "param": tuple(param.allocations),
                    "shared": tuple(shared),
                    "local": tuple(local),
                },
            )
        )
    threads = block[0] * block[1] * block[2]
    total = grid[0] * grid[1] * grid[2]
    per_chunk = max(1, CHUNK_THREADS // threads)
    with np.errstate(all="ignore"):  # IEEE says what happens; PTX does not warn
        for first in range(0, total, per_chunk):
            blocks = np.arange(first, min(first + per_chunk, total))
            spaces = {
                "global": heap,
                "const": const,
                "param": param,
                "shared": memory.rowed_space("shared", shared, shared_size, (len(blocks), 1)),
                "local": memory.rowed_space("local", local, local_size, (len(blocks), threads)),
            }
            state = State([], spaces, blocks, grid, block, sink, tolerant)
            state.registers = program.slots.initial(state, symbols, dynamic_shared)
            run_chunk(program, state, step_limit)
    for array, allocation in arrays:
        if allocation.writeable:
            array.view(np.uint8).reshape(-1)[:] = heap.data[allocation.start : allocation.end]


def run_chunk(program: Program, state: State, step_limit: int) -> None:
    """The loop: lowest program counter first. At times it is another's turn, or threads that spin
    until another thread signals would wait for ever."""
    turn = 0
    while state.ready:
        turn += 1
        pc = min(state.ready)
        if turn % PATIENCE == 0:
            pc = sorted(state.ready)[turn // PATIENCE % len(state.ready)]
        mask = state.ready.pop(pc)
        block = program.blocks[pc]
        if state.sink is not None:
            state.sink(
                Executed(block.instructions, state.blocks, state.shape[1], mask, state.steps)
            )
        state.steps += len(block.instructions)
        if state.steps > step_limit:
            b, t = np.argwhere(state.full(mask))[0]
            raise StepLimit(
                f"still running after {step_limit} instructions: an endless loop? "
                "(step_limit= raises the limit)",
                instruction=block.instructions[-1],
                thread=state.describe_thread(b, t),
            )
        for step in block.steps:
            step(state, mask)
        block.end(state, mask)
    for waiting, instruction in state.gathering.values():
        b, t = np.argwhere(waiting)[0]
        raise Deadlock(
            "the member mask names lanes that never come here",
            instruction=instruction,
            thread=state.describe_thread(b, t),
        )
    for number, groups in state.waiting.items():
        for mask, instruction, *_ in groups.values():
            b, t = np.argwhere(mask)[0]
            raise Deadlock(
                f"barrier {number} is never completed: {int(mask[b].sum())} threads of the block "
                f"wait, {int(state.alive[b].sum())} have not exited",
                instruction=instruction,
                thread=state.describe_thread(b, t),
            )


def extent(name: str, size) -> tuple[int, int, int]:
    """1 to 3 ints -> 3."""
    size = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    if not 1 <= len(size) <= 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in size):
        raise ValueError(f"{name} must be 1 to 3 positive integers, not {size}")
    return tuple(int(n) for n in (*size, 1, 1)[:3])


def check_launch(entry: Entry, block, args) -> None:
    threads = block[0] * block[1] * block[2]
    limit = MAX_THREADS
    for name in ("maxntid", "reqntid"):
        if name in entry.attributes:
            limit = min(limit, int(np.prod(entry.attributes[name])))
    if threads > limit:
        raise ValueError(
            f"a block of {threads} threads is more than the {limit} that "
            f"{entry.name} may be launched with"
        )
    if len(args) != len(entry.params):
        raise ValueError(f"{entry.name} takes {len(entry.params)} arguments, {len(args)} given")


def place(entry: Entry, args, guard: int):
    """Put arrays and module variables into global memory.

    Returns the space, the address of each array argument by position, and (array, allocation)
    pairs."""
    buffers, position, arrays = [], {}, {}
    for n, (param, value) in enumerate(zip(entry.params, args)):
        if not isinstance(value, np.ndarray):
            continue
        key = (value.__array_interface__["data"][0], value.nbytes) if value.nbytes else id(value)
        if key not in arrays:
            for other in arrays.values():
                written = value.flags.writeable or other.flags.writeable
                if written and np.may_share_memory(value, other):
                    raise ValueError(
                        f"argument {n} of {entry.name} overlaps another array in "
                        "part; pass the same array or separate ones"
                    )
            arrays[key] = value
            buffers.append((f"argument {n} ({param.name})", value, n))
        position[n] = list(arrays).index(key)
    variables = [v for v in entry.variables if v.space in ("global", "const")]
    for v in variables:
        data = np.frombuffer(bytearray(v.data.ljust(v.size, b"\0")), np.uint8)
        buffers.append((v.name, data, None))
    heap = memory.global_space(buffers, guard)
    addresses = {n: heap.allocations[at].start for n, at in position.items()}
    return heap, addresses, list(zip(arrays.values(), heap.allocations))


def pack_params(entry: Entry, args, addresses: dict[int, int]) -> bytes:
    """The parameter space: every value at its offset."""
    size = max((p.offset + p.size for p in entry.params), default=0)
    data = bytearray(-(-max(size, 1) // 16) * 16)
    for n, (param, value) in enumerate(zip(entry.params, args)):
        if n in addresses:
            value = np.uint64(addresses[n])
        raw = bytes(value) if isinstance(value, (bytes, bytearray)) else np.asarray(value).tobytes()
        if len(raw) != param.size:
            raise ValueError(
                f"argument {n} of {entry.name} has {len(raw)} bytes; the parameter "
                f"is .{param.type} with {param.size}"
            )
        data[param.offset : param.offset + param.size] = raw
    return bytes(data)
