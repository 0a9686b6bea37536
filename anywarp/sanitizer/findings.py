"""What a sanitizer run found, merged and put into words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ptx.asynchronous.tensor_maps import memory_of
from ..ptx.errors import thread_name
from ..ptx.memory.allocations import Allocation, nearest
from ..ptx.memory.events import Launched
from ..ptx.text.names import demangle
from ..ptx.text.syntax import Instruction, Position
from ..trace.arrays import Shape, array_shapes, declarations, fit, index_text
from ..trace.parameters import parameter_names


@dataclass(frozen=True, repr=False)
class Finding:
    """A fault. `position` is the CUDA line where it shows, `other_position` that of the earlier
    access where two are involved; the PTX line (file "PTX") where the PTX does not tell the CUDA
    line. `count`: how often."""

    # "out of bounds", "misaligned", "uninitialised", "race", "barrier", "asynchronous copy" or
    # "tensor core registers"
    kind: str
    message: str  # what, who and where, in a sentence
    position: Position
    thread: str | None  # "block (0, 0, 0), thread (3, 1, 0)"
    address: str | None = None  # "tile_a[3][17]"
    other_position: Position | None = None
    other_thread: str | None = None
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.position}: {self.kind}: {self.message}{times}"

    __repr__ = __str__


def place(instruction: Instruction) -> Position:
    """The CUDA line of an instruction, or the last before it; the PTX line if there is none."""
    return instruction.position or Position("PTX", instruction.line)


class Findings:
    """A collector: equal findings are kept once, the first of them, with a count."""

    def __init__(self) -> None:
        self.kept: dict[tuple[object, ...], Finding] = {}

    def add(self, finding: Finding, what: str = "") -> None:
        """`what` tells findings of one kind and pair of lines apart, such as the array."""
        places = frozenset(map(str, (finding.position, finding.other_position or finding.position)))
        key = finding.kind, what, places
        seen = self.kept.get(key)
        self.kept[key] = replace(seen, count=seen.count + finding.count) if seen else finding

    def report(self, kind: str, text: str, *sites: Any, count: int = 1, what: str = "") -> None:
        """Add what shows at an instruction. sites: it, its thread, the address and, where two are
        involved, the instruction before it and its thread, as far as there are any. `what` as for
        `add`."""
        i, thread, address, other, them = (*sites, None, None, None)[:5]
        there = place(other) if other else None
        self.add(Finding(kind, text, place(i), thread, address, there, them, int(count)), what)

    def __bool__(self) -> bool:
        return bool(self.kept)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.kept.values())


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings of several runs, equal ones once."""
    together = Findings()
    for finding in findings:
        together.add(finding, re.split(r"\W", finding.address or "")[0])
    return tuple(together)


class Words:
    """What the source and CUDA call the addresses and threads of a launch."""

    def __init__(self, launched: Launched, args: Sequence[Any], source: str):
        self.launch = launched
        self.names = array_names(launched, args, source)
        self.heap: list[Allocation] = []  # what malloc has given

    def locate(self, space: str, address: int) -> tuple[str, str]:
        """An address as (array, element), both in the words of the source."""
        homes = self.launch.allocations["global" if space == "const" else space]
        if space == "global":
            homes = (*homes, *self.heap)
        home = nearest(homes, int(address))
        if home is None:
            return space, f"address {int(address):#x}"
        name, shape = self.names.get(home.name, (demangle(home.name), None))
        return name, index_text(name, int(address) - home.start, shape)

    def thread(self, block: int, thread: int) -> str:
        """A thread of the grid, by its number and that of its block, as CUDA counts them."""
        return thread_name(block, thread, self.launch.grid, self.launch.block)


def allocation_of(n: int, args: Sequence[Any], allocations: Iterable[Allocation]) -> Allocation:
    """The allocation of an array argument; one array may be several arguments."""
    held = map(memory_of, args)
    places = [isinstance(x, np.ndarray) and (x.nbytes, x.ctypes.data) for x in held]
    first = places.index(places[n])
    return next(a for a in allocations if a.argument == first)


def array_names(
    launched: Launched, args: Sequence[Any], source: str
) -> dict[str, tuple[str, Shape | None]]:
    """Allocation name -> what the source calls it, and its shape if known."""
    kernel = demangle(launched.entry.name)
    called = parameter_names(source, kernel) if source else []
    names: dict[str, tuple[str, Shape | None]] = {}
    declared = [a for space in ("global", "shared", "local") for a in launched.allocations[space]]
    named = [demangle(a.name) for a in declared]
    for a in declared:
        if a.argument is not None:
            n = a.argument
            name = called[n] if len(called) == len(args) else f"arg{n}"
            array = memory_of(args[n])
            shape = Shape(array.shape or (1,), array.itemsize)
            names[a.name] = name, shape
        elif a.name.startswith("__local_depot"):  # all that has an address, in one piece
            names[a.name] = only_array(source, a.size, named)
        else:
            name = demangle(a.name)
            names[a.name] = name, array_shapes(source, {name: a.size}).get(name)
    return names


def namer(parameters: Sequence[str], source: str) -> Callable[[str, Allocation, int], str | None]:
    """What the source calls the home of a place, for the errors of `ptx.run`."""

    def name_of(space: str, home: Allocation, offset: int) -> str | None:
        if home.argument is not None:
            return parameters[home.argument] if home.argument < len(parameters) else None
        if home.name.startswith("__local_depot"):
            return only_array(source, home.size, ())[0]
        return demangle(home.name)

    return name_of


def only_array(source: str, size: int, others: Collection[str]) -> tuple[str, Shape | None]:
    """The array of `size` bytes in the source if there is one of that size alone."""
    fitting = {
        name: shape
        for name, declared in declarations(source)
        if name not in others and None not in declared.extents and (shape := fit(declared, size))
    }
    return next(iter(fitting.items())) if len(fitting) == 1 else ("local memory", None)
