"""Calls: which functions a kernel needs, where their frames lie, and how to call and return.

Functions stand behind the kernel in one row of program counters. A call puts the threads one
frame deeper; the deepest run first, so that they meet again behind the call. What a function
declares in .local and .param lies at a place of its own in memory that each thread has: of a
parameter whose address is taken, that is one in .local (PTX ISA, mov), and one it stays. One that
can call itself again, directly or by way of others, has a frame for each depth instead: its
registers and the addresses of its variables are put aside by a call and come back with the return.
PTX ISA, chapters 9.7.12 (call, ret) and 7.1 (the function call interface).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aliases import Array, Execute, Mask, Reader, Site, Slots, State
from ..errors import PTXError
from ..memory.allocations import FUNCTION_STEP, FUNCTION_WINDOW, Allocation, lay_out
from ..memory.events import Passed
from ..text import flow
from ..text.forms import refuse
from ..text.names import demangle
from ..text.parser import mentioned
from ..text.syntax import Entry, Function, Instruction, Symbol, Vector
from .library import LIBRARY

MAX_DEPTH = 1024  # calls within calls
STACK = 16384  # bytes of a thread for the frames of recursive functions


@dataclass(eq=False)
class Frame:
    """Of one depth: the number of the call that led here, and what the callers put aside."""

    site: Array
    saved: dict[Any, Any]


# -- which functions there are ----------------------------------------------------------------


def linked(entry: Entry) -> list[Function]:
    """The functions with a body that the entry can reach, by name or by address."""
    names = mentioned(entry, entry.functions, {v.name: v for v in entry.variables})
    found = (f for name, f in entry.functions.items() if name in names)
    return [f for f in found if f.instructions or f.error]  # more than a declaration


def recursive(functions: list[Function]) -> set[str]:
    """The names of those that may be active twice in a thread. A call of an address may lead to
    any of them."""
    names = {f.name for f in functions}
    called: Any = {
        f.name: {callee(i) for i in f.instructions if i.opcode == "call"} for f in functions
    }
    after: Any = {name: names if None in to else to & names for name, to in called.items()}
    return {name for name in names if name in flow.reached(after[name], after)}


def callee(i: Instruction) -> str | None:
    """The name that a call calls; None for an address in a register."""
    target = next((o for o in i.operands if not isinstance(o, Vector)), None)
    return target.name if isinstance(target, Symbol) else None


def function_addresses(functions: dict[str, Function]) -> dict[str, int]:
    """The same for every kernel of a module, as pointers may outlive a launch."""
    return {name: FUNCTION_WINDOW + n * FUNCTION_STEP for n, name in enumerate(functions)}


# -- where frames lie -------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Of .local, or of .param of functions: `symbols` has the address of each (function,
    variable), in the first frame for recursive ones, whose frames lie `step` bytes apart."""

    allocations: list[Allocation]
    size: int
    symbols: dict[tuple[str, str], int]
    step: int


def lay_out_frames(
    space: str, entry: Entry, functions: Any, depth: int, again: set[str], guard: int, first: int
) -> Any:
    """Where the variables of a space lie in a thread's memory, from `first` on."""
    once = [f for f in (entry, *functions) if f.name not in again]
    owned = [(f.name, v) for f in once for v in variables_of(f, space, f is entry) if v.size]
    allocations, size = lay_out([v for _, v in owned], guard=guard, first=first)
    symbols = {(name, v.name): a.start for (name, v), a in zip(owned, allocations)}
    start, step = -(-size // 16) * 16, frame_size(space, [f for f in functions if f.name in again])
    for f in functions:
        if f.name in again:
            inside, _ = lay_out(variables_of(f, space))
            symbols |= {(f.name, a.name): start + a.start for a in inside}
    if step:
        size = start + depth * step
        frames = enumerate(range(start, size, step))
        allocations += [Allocation(f"stack frame {n}", at, step) for n, at in frames]
    return Layout(allocations, size, symbols, step)


def variables_of(function: Function, space: str, entry: bool = False) -> list[Any]:
    """A function's variables in a space; parameters and results are in .param."""
    variables: list[Any] = [v for v in function.variables if v.space == space]
    if space == "param" and not entry:
        variables += [*function.params, *function.results]
    return variables


def frame_size(space: str, functions: Any) -> int:
    """Bytes of the largest frame of these functions in a space."""
    return max((-(-lay_out(variables_of(f, space))[1] // 16) * 16 for f in functions), default=0)


def deepest(functions: Any, again: set[str]) -> int:
    """How many frames fit in the stack."""
    frames = [f for f in functions if f.name in again]
    size = frame_size("local", frames) + frame_size("param", frames)
    return min(MAX_DEPTH, STACK // max(size, 1))


# -- call and return --------------------------------------------------------------------------


def words(param: Any) -> tuple[int, int]:
    """(bytes, count) of the words in which a parameter is copied."""
    size = next(n for n in (8, 4, 2, 1) if param.size % n == 0 and param.align >= n)
    return size, param.size // size


def copy(
    i: Instruction, state: State, source: Array, target: Array, param: Any, mask: Mask
) -> None:
    """Copy a parameter from one address of a thread's call memory to another."""
    state.spaces["arguments"].copy(source, target, mask, *words(param))
    state.tell(Passed, i, param.size, source, target, mask)


class Callee:
    """A function as calls see it: where it starts, and how its frame is made."""

    def __init__(self, function: Function, slots: Slots, start: int, is_recursive: bool) -> None:
        self.function, self.start, self.recursive = function, start, is_recursive
        self.params = [slots.address(Symbol(p.name)) for p in function.params]
        self.results = [slots.address(Symbol(r.name)) for r in function.results]
        self.slots = slots

    def open_frame(self, state: State, depth: int, mask: Mask) -> None:
        """Point the addresses of the function's variables into the frame of this depth."""
        if not self.recursive:
            return
        for at, name, offset in self.slots.frame[1]:
            layout = state.launch.layout_of(self.function.name, name)
            address = layout.symbols[self.function.name, name] + (depth - 1) * layout.step
            old = state.registers[at]
            state.registers[at] = merged(mask, np.full((1, 1), address + offset, old.dtype), old)


def call(i: Instruction, at: Site) -> Execute:
    """call{.uni} (results), function, (arguments); or by an address in a register."""
    refuse(set(i.modifiers) - {"uni"}, i)
    operands = list(i.operands)
    results = operands.pop(0).elements if isinstance(operands[0], Vector) else ()
    target = operands.pop(0)
    arguments = operands.pop(0).elements if operands and isinstance(operands[0], Vector) else ()
    name = callee(i)
    passed = {getattr(x, "name", None) for x in (*arguments, *results)}
    refuse(passed - at.slots.own, f"operands of {name}, each of which is to be a .param variable")
    sources = [at.slots.address(a) for a in arguments]
    returned = [at.slots.address(r) for r in results]
    callees, by_address = at.linked.callees, at.linked.by_address
    if name is not None and name not in callees:
        refuse(name.startswith("__cudaCDP"), "a kernel that launches another: launch both yourself")
        title = demangle(name, qualified=True)
        refuse(name not in LIBRARY, f"{title} has no body here: include the file that has it")
        act = LIBRARY[name]

        def run(state: State, mask: Mask) -> None:
            act(i, state, mask, sources, returned)
            state.changed = True
            state.go(at.following, mask)

        return run
    number = len(at.linked.returns)  # by which the threads of this call find back
    at.linked.returns.append((at.following, finish(returned, at.recursive)))

    def enter(state: State, function: Callee, mask: Mask) -> None:
        if len(function.params) != len(sources) or len(function.results) != len(returned):
            why = f"{function.function.title} is called with {len(sources)} arguments"
            raise PTXError(why, instruction=i)
        depth = state.depth + 1
        if depth >= state.launch.depth:
            why = f"stack overflow: {function.function.title} is called {depth} calls deep; the "
            why += f"interpreter has room for {depth - 1} (a GPU has 1024 bytes for all frames of "
            why += "a thread, unless cudaLimitStackSize says otherwise)"
            state.require(np.False_, mask, i, why)
        given = [address(state.registers) for address in sources]
        if at.recursive:
            put_aside(state, callees[at.function.name].slots, mask)
        function.open_frame(state, depth, mask)
        for source, target, param in zip(given, function.params, function.function.params):
            copy(i, state, source, target(state.registers), param, mask)
        old = state.frames.get(depth)
        site = np.full((1, 1), number)
        if old is None:
            state.frames[depth] = Frame(site, {})
        else:
            old.site = merged(mask, site, old.site)
        state.go(function.start, mask, deeper=1)

    if name is not None:
        only = callees[name]
        return lambda state, mask: enter(state, only, mask)
    address_of = at.slots.reader(target, np.uint64)

    def dispatch(state: State, mask: Mask) -> None:
        """Threads may hold different addresses."""
        for value, here in state.alike([address_of(state.registers)], mask):
            if value not in by_address:
                why = f"a call of address {value:#x}, where there is no function"
                state.require(np.False_, here, i, why)
            enter(state, by_address[value], here)

    return dispatch


def put_aside(state: State, slots: Slots, mask: Mask) -> None:
    """Keep the registers of a caller that the callee may call again."""
    saved = state.frames.setdefault(state.depth, Frame(np.zeros((1, 1), int), {})).saved
    registers, addresses = slots.frame
    for n in (*registers, *(at for at, *_ in addresses)):
        new = state.registers[n]
        saved[n] = new if n not in saved else merged(mask, new, saved[n])


def merged(mask: Mask, new: Any, old: Array) -> Any:
    """The new value where the mask is true. The same bits may be there as another type."""
    return new if mask is None else np.where(mask, new, old.view(new.dtype))


def leave_function(i: Instruction, at: Site) -> Execute:
    """ret in a function: threads go back to where they were called from."""
    own = at.linked.callees[at.function.name]

    def end(state: State, mask: Mask) -> None:
        for number, here in state.alike([state.frames[state.depth].site], mask):
            results = [address(state.registers) for address in own.results]
            following, finish = at.linked.returns[number]
            finish(i, state, here, results, own.function)
            state.go(following, here, deeper=-1)

    return end


def finish(returned: list[Reader], is_recursive: bool) -> Callable[..., Any]:
    """What a call does when it is over: the caller's registers, then the results."""

    def run(i: Instruction, state: State, mask: Mask, results: Any, function: Any) -> None:
        if is_recursive:
            for n, value in state.frames[state.depth - 1].saved.items():
                state.registers[n] = merged(mask, value, state.registers[n])
        for source, target, param in zip(results, returned, function.results):
            copy(i, state, source, target(state.registers), param, mask)

    return run
