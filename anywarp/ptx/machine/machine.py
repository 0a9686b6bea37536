"""The machine: decode a kernel once, then run all threads of a chunk of blocks together.

A register is one NumPy array of shape (blocks, threads), or of length 1 along an axis on which
it does not vary: a loop counter is (1, 1), an offset made from threadIdx is (1, threads), and
NumPy's broadcasting does the rest. The uniform datapath of the hardware has the same idea.

Threads that diverge wait in `State.ready`, a mask for each place; a place runs before those that
it leads to, so that they meet again where the paths join (see `scheduler`). Masks broadcast like
registers; None stands for all threads.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..aliases import Execute, Mask, Names, Progress
from ..arithmetic.ops import OPS, operation
from ..asynchronous.bulk import BULK
from ..asynchronous.copies import COPIES
from ..asynchronous.mbarrier_ops import MBARRIERS
from ..asynchronous.remote import REMOTE
from ..asynchronous.tensor_copies import TENSORS
from ..calls import functions as calls
from ..calls.library import NEEDS_HEAP, Printer
from ..errors import ParseError, UnknownOpcode
from ..memory import allocations
from ..memory.access import MEMORY
from ..memory.clusters import block_numbers, whole
from ..memory.events import Chosen, Launched
from ..memory.texture_ops import TEXTURES
from ..text import flow, isa
from ..text.contraction import explicit
from ..text.forms import Unsupported, elements, refuse
from ..text.parser import uncollected
from ..text.syntax import Entry, Function, Instruction, Variable, Vector
from ..text.temporaries import giving_up, keep_freed_memory, last_uses, temporaries
from . import control, launch as launching
from .batches import in_batches, is_multiply_add, multiply_adds
from .registers import RESERVED, Slots, with_clocks
from .scheduler import STEP_LIMIT, run_chunks
from .state import Launch, State

CHUNK_THREADS = 32768  # as many as keep the working set in the L2 cache of a core
DEEP_CHUNK_THREADS = 2048  # with the stacks of recursive functions
LOCAL_BYTES = 1 << 28  # of all threads of a chunk, unless one block has more
RESERVED_BYTES = 1024  # of a block's shared memory, before its own, as on GPUs since sm_80
END = -1  # where ret, exit and trap lead, guarded or not
ADVICE = (
    'what the interpreter lacks runs with device="gpu" on a machine with an NVIDIA GPU; '
    "here, write it in other words"
)


@dataclass(frozen=True)
class BasicBlock:
    """Straight-line code: steps that do not jump, then one that decides where to go."""

    instructions: tuple[Instruction, ...]
    count: int
    steps: tuple[Any, ...]
    end: object
    function: str  # the name of the one that it is of


@dataclass(frozen=True, eq=False)
class Program:
    """An entry and what it can call, decoded."""

    blocks: dict[int, BasicBlock]  # by the program counter of the first instruction
    slots: Slots
    size: int  # program counters
    functions: list[Function]
    again: set[str]  # names of those that are recursive
    successors: dict[int, list[int]]  # of each block; END or others
    endless: set[int]  # blocks from which no way leads to the end
    heap: bool  # malloc or free is called
    turn: Callable[[int], int] | None  # place -> when its turn is; None: the lowest comes first


@dataclass(eq=False)
class Linked:
    """What the functions of a program know of each other."""

    callees: dict[str, calls.Callee]
    by_address: dict[int, calls.Callee]
    again: set[str]
    # of each call: where it goes on, and what `finish(state, mask, results, callee)` does before
    returns: list[tuple[int, Callable[..., Any]]]


@dataclass(frozen=True)
class Site:
    """Where an instruction stands, for the function that decodes it."""

    slots: Slots
    function: Function
    start: int  # program counter of the function
    following: int  # and of what comes after the instruction
    linked: Linked
    run: tuple[Instruction, ...] = ()  # what ends the block: several only if they are mma

    recursive = property(lambda self: self.function.name in self.linked.again)

    def target(self, label: str) -> int:
        refuse(label not in self.function.labels, f"there is no label {label}")
        return self.start + self.function.labels[label]


@functools.lru_cache(maxsize=64)
@uncollected
def decode(entry: Entry) -> Program:
    """Bind every instruction to its function. Raises UnknownOpcode or ParseError."""
    called = calls.linked(entry)
    again, addresses = calls.recursive(called), calls.function_addresses(entry.functions)
    names = {v.name for v in entry.variables} | {p.name for p in entry.params} | set(addresses)
    slots = Slots(explicit(entry), names)
    starts, size = {}, 0
    for function in (entry, *called):
        starts[function.name] = size
        size += len(function.instructions) + 1  # where labels at the very end lead
    callees = {
        f.name: calls.Callee(f, slots.of(explicit(f)), starts[f.name], f.name in again)
        for f in called
    }
    by_address = {addresses[name]: each for name, each in callees.items()}
    link = Linked(callees, by_address, again, [])
    blocks: dict[int, BasicBlock] = {}
    successors: dict[int, list[int]] = {}
    for function in (entry, *called):
        view = slots if function is entry else callees[function.name].slots
        decode_function(entry, function, view, starts[function.name], link, blocks, successors)
    code = [i for f in (entry, *called) for i in f.instructions if i.opcode == "call"]
    heap = not NEEDS_HEAP.isdisjoint(map(calls.callee, code))
    turn = turns(successors, size)
    return Program(blocks, slots, size, called, again, successors, endless(successors), heap, turn)


def turns(successors: dict[int, list[int]], size: int) -> Callable[[int], int] | None:
    """When each place's turn is: the deepest call first, then as `flow.turns` says."""
    places = sorted(successors)
    number = {place: n for n, place in enumerate(places)}
    after = [[number[to] for to in successors[place] if to != END] for place in places]
    order = flow.turns(after)
    if order == sorted(order):
        return None
    rank = {places[n]: at for at, n in enumerate(order)}
    return lambda place: place // size * size + rank[place % size]


def decode_function(
    entry: Any, function: Function, slots: Slots, start: int, link: Linked, blocks: Any, ways: Any
) -> None:
    """Add the basic blocks of a function, and where each may lead."""
    if function.error is not None:
        raise ParseError(f"{function.title} could not be read: {function.error}; {ADVICE}")
    code, written = function.instructions, explicit(function).instructions
    ranges = flow.blocks(function, waits=True)
    everywhere = temporaries(written, ranges) & slots.function.registers.keys()
    for block in ranges:
        run, last = code[block.start : block.stop], code[block.stop - 1]
        lines = written[block.start : block.stop]
        local = everywhere.intersection(x for i in lines for x in isa.written(i))
        straight = 0 if last.opcode == "mma" else len(run) - bool(isa.lookup(last).ends)
        body, ending = lines[:straight], run[straight:]
        order = in_batches(body)
        batches = [[body[n] for n in batch] for batch in order]
        site = Site(slots, function, start, start + block.stop, link, ending)
        if isa.lookup(last).ends:
            end = bind(last, site, entry)
        else:
            end = control.go_to(site.following)
        dying = last_uses([*batches, ending], local)
        steps = []
        for numbers, batch, names in zip(order, batches, dying):
            if is_multiply_add(batch[0]):
                step = multiply_adds(batch, slots)
            else:
                step = bind(batch[0], site, entry, len(run) - numbers[0] - 1)
            steps.append(giving_up(step, names, slots))
        blocks[start + block.start] = BasicBlock(run, len(run), tuple(steps), end, function.name)
        after = [start + to for to in flow.targets(function, last)]
        after += [END] * (isa.lookup(last).ends == "leave")
        ways[start + block.start] = after + [site.following] * flow.runs_on(last)
    # bodies that do without a ret
    ret = Instruction("ret", (), (), None, False, 0, None)
    end = bind(ret, Site(slots, function, start, start + len(code), link), entry)
    blocks[start + len(code)] = BasicBlock((), 0, (), end, function.name)
    ways[start + len(code)] = [END]


def endless(successors: dict[int, list[int]]) -> set[int]:
    """The blocks from which no way leads to END."""
    return successors.keys() - flow.reached([END], flow.inverted(successors))


def bind(i: Instruction, site: Site, entry: Entry, before_end: int = 0) -> Callable[..., Any]:
    """The function `(state, mask)` that runs this instruction."""
    try:
        ends = isa.longest(control.CONTROL, i.opcode, i.modifiers)
        if ends:
            end = control.CONTROL[ends](i, site)
            return control.guarded_end(end, site.slots.guard(i), site.following) if i.guard else end
        name = isa.longest(DECODERS, i.opcode, i.modifiers)
        refuse(not name, i.opcode)
        execute = with_clocks(DECODERS[name](i, site), i, site.slots, before_end)
        return control.guarded(execute, site.slots.guard(i), i) if i.guard else execute
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        reason = error if isinstance(error, (Unsupported, KeyError)) else "such operands"
        words = set(re.findall(r"[\w$]+", str(reason)))
        why = next((str(e) for name, e in entry.unread.items() if name in words), reason)
        where = f" in {site.function.title}" if site.function is not entry else ""
        raise UnknownOpcode(
            f"the interpreter does not know {i.text!r}{where} ({why}): {ADVICE}", instruction=i
        ) from None


def compute(i: Instruction, at: Site) -> Execute:
    """An instruction that only computes: registers in, registers out."""
    slots, op = at.slots, operation(i)
    target, *sources = i.operands
    if len(sources) == 1:
        sources = [*elements(sources[0])]
    refuse(len(sources) != len(op.sources), f"{len(sources)} operands, not {len(op.sources)}")
    readers = [slots.reader(s, dtype) for s, dtype in zip(sources, op.sources)]
    function = op.function
    writers = [slots.writer(each, op.result) for each in elements(target)]

    def scatter(state: State, mask: Mask) -> None:
        registers = state.registers
        for write, value in zip(writers, function(*[r(registers) for r in readers])):
            write(registers, value, mask)

    def execute(state: State, mask: Mask) -> None:
        registers = state.registers
        write(registers, function(*[read(registers) for read in readers]), mask)

    if isinstance(target, Vector):
        return scatter
    (write,) = writers
    return execute


def choose(i: Instruction, at: Site) -> Execute:
    """What may not depend on all sources (`isa.chooses`): the sink is told which of them matter."""
    execute = compute(i, at)
    if not isa.chooses(i):
        return execute
    dtype = np.uint32 if "b32" in i.modifiers and i.opcode == "and" else np.bool_
    readers = [at.slots.reader(x, dtype) for x in i.operands[3 if i.opcode == "selp" else 1 :]]

    def run(state: State, mask: Mask) -> None:
        if state.sink is not None:
            values = [read(state.registers) for read in readers]
            state.tell(Chosen, i, mask, *CHOICES[i.opcode](*values))
        execute(state, mask)

    return run


CHOICES: dict[str, Any] = {
    "selp": lambda p: (p, ~p),
    "and": lambda a, b: (b != 0, a != 0),
    "or": lambda a, b: (~b, ~a),
}

# of all instructions that do not end a basic block: each takes one and its site, and returns
# `execute(state, mask)`
DECODERS: dict[str, Any] = dict.fromkeys(OPS, compute) | MEMORY | COPIES | BULK | MBARRIERS
DECODERS |= dict.fromkeys(isa.CHOOSES, choose)
DECODERS |= REMOTE | TENSORS | TEXTURES | control.SIMPLE


def run(
    entry: Entry,
    grid: Sequence[int] | int,
    block: Sequence[int] | int,
    args: Sequence[Any],
    *,
    shared_mem: int = 0,
    sink: Any = None,
    step_limit: int = STEP_LIMIT,
    tolerant: bool = False,
    cooperative: bool = False,
    statics: launching.Statics | None = None,
    write: Any = None,
    progress: Progress = None,
    names: Names = lambda *_: None,
) -> None:
    """Run an entry for a grid of blocks.

    grid, block: 1 to 3 ints, x first. args, one per parameter: a C-contiguous NumPy array for a
    pointer (what the kernel stores is written back into it), a NumPy scalar of the parameter's
    size for a value, bytes or a Mapped for a struct, an Image for a texture or a surface.
    shared_mem: bytes. sink: gets every event (see `memory.events`). step_limit: how often the
    threads of a chunk may pass one place of the program (see `scheduler`). tolerant: with a sink,
    tell it of accesses that are out of bounds or misaligned, and go on without them; arrays lie
    farther apart then, so that fewer of the former end in another array. cooperative: grid.sync()
    finds its barrier. statics: the module's variables, which the run changes; fresh ones without.
    write: takes the text of printf, sys.stdout.write without. progress: called with (blocks done,
    blocks, how many instructions have run, in words), at most ten times a second. names: a
    function (space, Allocation, offset) -> what errors call that place, or None.

    Raises ValueError for a launch that a GPU would refuse, and a PTXError for what goes wrong
    while running.
    """
    grid, block = launching.extent("grid", grid), launching.extent("block", block)
    cluster = launching.check_launch(entry, grid, block, args)
    program = decode(entry)
    threads, total = block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2]
    statics = launching.statics(entry) if statics is None else statics
    guard, apart = (launching.FAR, launching.APART) if tolerant else (allocations.GUARD, 0)
    held = launching.place(entry, args, statics, program.heap, cooperative, guard, names)
    declared = [v for v in entry.variables if v.space == "shared"]
    if ("", RESERVED) in program.slots.table:
        declared.insert(0, Variable(RESERVED, "shared", "b8", 16, RESERVED_BYTES))
    shared, shared_size = allocations.lay_out(declared, shared_mem, apart)
    depth = calls.deepest(program.functions, program.again)
    frames = entry, program.functions, depth, program.again, apart
    local = calls.lay_out_frames("local", *frames, 0)
    arguments = calls.lay_out_frames("param", *frames, local.size + max(apart, 16))
    stack = [*local.allocations, *arguments.allocations]
    symbols: dict[Any, int] = held.starts | {a.name: a.start for a in shared}
    symbols |= {(entry.name, p.name): p.offset for p in entry.params}
    symbols |= calls.function_addresses(entry.functions) | local.symbols | arguments.symbols
    launching.resolve(entry, statics, symbols, held.space.data)
    given = np.frombuffer(bytearray(launching.pack_params(entry, args, held.starts)), np.uint8)
    params = [allocations.Allocation(p.name, p.offset, p.size, False) for p in entry.params]
    param = allocations.Space("param", given, np.zeros((1, 1), np.int64), params)
    constants = {v.name for v in entry.variables if v.space == "const"}
    constant = allocations.constants(held.space, constants)
    fixed = {"global": held.space, "const": constant, "param": param}
    if sink is not None:
        every = {name: tuple(space.allocations) for name, space in fixed.items()}
        rows = {"shared": tuple(shared), "local": tuple(stack)}
        rows["arguments"] = tuple(arguments.allocations)
        heap_end = held.heap.end if held.heap else 0
        sink(Launched(entry, grid, block, every | rows, heap_end, cluster[:3]))
    images = launching.images(args, held.starts)
    workspace = held.starts.get(launching.WORKSPACE, 0)
    common = step_limit, Printer(write), held.heap, (local, arguments), depth, shared_size, cluster
    launch = Launch(*common, images, workspace)
    most = DEEP_CHUNK_THREADS if program.again else CHUNK_THREADS
    per_chunk = whole(min(most, LOCAL_BYTES // max(1, arguments.size)) // threads, cluster)

    def begin(first: int, end: int) -> State:
        rows, in_rows = (end - first, threads), allocations.rowed_space
        both = in_rows("local", stack, arguments.size, rows, names)
        spaces = fixed | {
            "shared": in_rows("shared", shared, shared_size, (rows[0], 1), names),
            "local": both,
            "arguments": replace(both, name="arguments", allocations=arguments.allocations),
        }
        blocks = block_numbers(first, end, grid, cluster)
        state = State([], spaces, blocks, grid, block, launch, program.size, sink, tolerant)
        makers = (make for _, make in program.slots.table.values())
        state.registers = [make(state, symbols, shared_mem) for make in makers]
        return state

    keep_freed_memory()
    with np.errstate(all="ignore"):  # IEEE says what happens; PTX does not warn
        try:
            run_chunks(program, begin, total, per_chunk, threads, progress)
        finally:
            launch.printer.flush()
    launching.write_back(held)
