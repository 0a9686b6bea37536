"""Values that nobody has defined, on their way through registers.

Compilers copy structs in words, padding included. So a load may read bytes that nobody wrote, if
it reads others too and the undefined ones only go into a store (`used_cells`). They also load
early what the source reads under a condition, such as what a function writes if it says so, and
choose afterwards. Kernels load and multiply whole tiles, of which the last is filled in part, and
throw the rest away. So a load, be it by ldmatrix or wgmma, is at fault once its value, or what is
computed from it, matters: in a condition or an address, in global memory, or to others. What is
stored in shared or local memory is undefined there; a row of a product depends on that row of its
first factor, a column on that of the second. A lane that shuffles from one that takes no part gets
an undefined value too; it is at fault when it stores that, or what is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ..analysis.fragments import Fragment, fragments
from ..analysis.warps import LANES, Ints, Mask, in_warps, whole_mask
from ..ptx.memory.events import Access, Chosen, Executed, Fault, Passed, Started, WarpSync
from ..ptx.text import isa
from ..ptx.text.forms import elements
from ..ptx.text.syntax import TYPE_BYTES, Instruction
from ..ptx.warps.descriptor import tile_addresses
from .shadow import Lanes, Shadow, Touched
from .static_facts import LOADS, STORES, CodeFacts, Facts

# For each thread 0 where a value is defined; else the number of where it comes from, above an
# address, or a lane. int64, of a shape that broadcasts to (B, T); None where all are defined.
Stray = Any
DATA = 48  # bits of the address


def used_cells(instruction: Instruction, facts: Facts, grain: int) -> np.ndarray:
    """Which cells of a load are made use of, other than in copies: bool (registers, cells of
    one)."""
    demanded = facts.part[id(instruction)].demanded
    bits = [
        sum(demanded.get(name, 0) for name in isa.registers_in(target))
        for target in elements(instruction.operands[0])
    ]
    each = range(0, TYPE_BYTES[instruction.modifiers[-1]], grain)
    return np.array([[x >> 8 * n & (1 << 8 * grain) - 1 > 0 for n in each] for x in bits])


def held_by(i: Instruction) -> dict[str, Fragment]:
    """Which lane's registers hold which elements of the matrices of mma, ldmatrix, stmatrix."""
    return fragments(".".join((i.opcode, *i.modifiers)))


class Strays:
    """Registers that hold what nobody has defined.

    A straight run of instructions is told of before it runs, so it is followed only up to what
    is heard next: `todo`. `report(i, origin, space, strays)` is told where one matters; the
    origin is a load and its space, or a shuffle and ""."""

    def __init__(self, facts: Facts, report: Callable[..., None]) -> None:
        self.facts, self.report = facts, report
        self.lanes: dict[tuple[CodeFacts, str], Stray] = {}  # by part and register
        self.origins: list[tuple[Instruction, str]] = []
        self.todo: list[Instruction] = []
        self.run: Any = None  # Executed
        self.load: Instruction | None = None  # the last one in this run that found undefined cells
        self.stored: list[Stray] = []  # in shared or local memory, by the last access

    def begin(self, event: Executed | None) -> None:
        """A straight run of instructions begins; None: there is no more."""
        if self.lanes:
            self._follow(None)
        self.run, self.load = event, None
        self.todo = list(reversed(event.instructions)) if event and self.lanes else []

    def loaded(self, lanes: Touched, undefined: np.ndarray) -> None:
        """A load has found cells that nobody wrote, (N, cells of a lane) of its N lanes."""
        i, event = lanes.event.instruction, lanes.event
        bad: Any = undefined
        if i.opcode in LOADS:  # at fault, unless they are copied together with others
            used = used_cells(i, self.facts, lanes.shadow.grain)
            cells: Any = undefined.reshape(-1, *used.shape)
            bad = cells & (used | cells.all((1, 2), keepdims=True))
        if not bad.any():
            return
        if not self.lanes:
            run = self.run.instructions
            self.todo = list(reversed(run[next(n for n, each in enumerate(run) if each is i) :]))
        self._follow(i)
        if self.load is not i:  # it may be told of one space after the other
            self.set(i, isa.written(i), None, self.run.mask, weak=i.guard is not None)
            self.load = i
        told = lanes.address | self._origin(i, event.space)
        told = either(lanes.shadow.stray[lanes.cell], told).reshape(bad.shape)
        told = np.where(bad, told, 0)
        if i.opcode not in LOADS:
            self._dealt(i, told, lanes.who, lanes.shadow.grain)
            return
        for n, target in enumerate(elements(i.operands[0])):
            stray = np.zeros((len(event.blocks), event.threads), np.int64)
            stray[lanes.who] = told[np.arange(len(bad)), n, bad[:, n].argmax(1)]
            self.set(i, isa.registers_in(target), stray, event.mask)

    def _is_field(self, i: Instruction) -> bool:
        """Whether an instruction puts what is defined into some bits of a register. That nobody
        has set the others is as with padding."""
        part = self.facts.part[id(i)]
        stray = [name for name in isa.read(i) if (part, name) in self.lanes]
        return i.opcode == "or" and len(stray) == 1 and stray[0] in part.masked

    def _dealt(self, i: Instruction, told: Ints, who: Any, grain: int) -> None:
        """ldmatrix has found undefined cells in rows, for which lanes give addresses."""
        rows = np.zeros((*self._warps(0).shape, 8), np.int64)
        lanes = rows.reshape(len(rows), -1, 8)
        lanes[who] = np.repeat(told, grain, 1).reshape(-1, 8, 2).max(-1)
        for n, (target, held) in enumerate(zip(elements(i.operands[0]), held_by(i).values())):
            self._set(i, target, rows[:, :, 8 * n + held.row[0], held.column[0]].max(-1))

    def _multiplied(self, i: Instruction) -> None:
        """mma: a row of the product depends on that of the first factor, a column on that of the
        second, an element on that of the sum before."""
        held = held_by(i)
        lines: Any = np.zeros((2, *self._warps(0).shape[:2], 16), np.int64)
        for operand, line, at in zip(i.operands[1:], lines, (held["A"].row, held["B"].column)):
            for factor, where in zip(elements(operand), at[:, :, 0]):
                index: Any = np.s_[:, :, where]
                np.maximum.at(line, index, self._warps(self._any(i, isa.registers_in(factor))))
        sums = [self._any(i, isa.registers_in(term)) for term in elements(i.operands[3])]
        for target, term, row, column in zip(elements(i.operands[0]), sums, *held["D"][1:]):
            stray = either(lines[0][:, :, row].max(-1), lines[1][:, :, column].max(-1))
            self._set(i, target, either(self._warps(term), stray))

    def grouped(self, event: Started, shadow: Shadow, cells: Ints) -> None:
        """wgmma, likewise; of its tiles in shared memory, these are the cells."""
        if not self.lanes and shadow.filled[cells].all():
            return
        i, (tiles, adds) = event.instruction, event.product
        shape, count = (len(event.blocks), event.threads), len(adds)
        self._follow(i)
        lines = {"A": np.zeros((count, 64), np.int64), "B": np.zeros((count, 256), np.int64)}
        for tile in tiles:
            for n, descriptor in enumerate(tile.descriptors):
                address, groups = tile_addresses(descriptor, *tile.shape), tile.which == n
                there = address < shadow.cells * shadow.grain  # else told of as a Fault
                cell = np.where(there, address // shadow.grain, 0)
                cell = cell + event.block[groups, None, None] * shadow.cells
                there = there & ~shadow.filled[cell] & (shadow.flying[cell] == 0)
                told = either(shadow.stray[cell], address | self._origin(i, "shared"))
                lines[tile.name][groups, : len(address)] = np.where(there, told, 0).max(-1)
        thread = np.arange(128)
        where = event.block[:, None], event.thread[:, None] + thread
        stray_of: Any = lambda x: either(self._any(i, isa.registers_in(x)), 0)
        held: Any = lambda x: np.broadcast_to(stray_of(x), shape)[where]
        for n, factor in enumerate(i.operands[1].elements if len(tiles) == 1 else ()):
            row: Any = np.s_[:, thread // 32 * 16 + thread % 32 // 4 + n % 2 * 8]
            np.maximum.at(lines["A"], row, held(factor))
        mask = np.zeros(shape, bool)
        mask[where] = True
        for target, row, column in zip(elements(i.operands[0]), *held_by(i)["D"][1:]):
            stray = either(lines["A"][:, row[:, 0]], lines["B"][:, column].max(-1))
            new = np.zeros(shape, np.int64)
            new[where] = either(np.where(adds[:, None], held(target), 0), stray)
            self.set(i, isa.registers_in(target), new, mask)

    def _warps(self, stray: Stray) -> Any:
        """What threads have, as (blocks, warps, 32)."""
        shape = len(self.run.blocks), self.run.threads
        whole = np.broadcast_to(np.int64(0) if stray is None else stray, shape)
        return in_warps(whole, *shape)

    def _set(self, i: Instruction, target: Any, stray: Ints) -> None:
        """`set` a register to what is (blocks, warps, 32)."""
        threads = stray.reshape(len(stray), -1)[:, : self.run.threads]
        self.set(i, isa.registers_in(target), threads, self.run.mask)

    def shuffled(self, event: WarpSync) -> None:
        """Lanes have shuffled."""
        shape, i = (len(event.blocks), event.threads), event.instruction
        self._follow(i)
        mask = whole_mask(event.mask, shape)
        assert event.sources is not None
        lane = event.sources.astype(np.int64)
        source = np.arange(event.threads) // LANES * LANES + lane
        there = source < event.threads
        source = np.where(there, source, 0)
        named = np.broadcast_to(event.members, shape) >> lane.astype(np.uint32) & np.uint32(1)
        there = there & np.take_along_axis(mask, source, 1) & (named == 1)
        stray: Stray = None
        if (mask & ~there).any():
            stray = np.where(mask & ~there, self._origin(i, "") | lane, 0)
        value = self._any(i, isa.registers_in(i.operands[1]))
        if value is not None:
            value = np.take_along_axis(np.broadcast_to(value, shape), source, 1)
            stray = either(stray, np.where(mask & there, value, 0))
        self.set(i, isa.registers_in(i.operands[0])[:1], stray, event.mask)

    def chosen(self, event: Chosen) -> None:
        """Some sources of an instruction matter, and some do not."""
        if not self.lanes:
            return
        i = event.instruction
        self._follow(i)
        first, second, *by = (self._any(i, isa.registers_in(o)) for o in i.operands[1:])
        stray = reduce(either, by, None)  # of what it chooses by
        for one, other, matters in ((first, second, event.first), (second, first, event.second)):
            if one is not None:
                matters = matters if other is None else matters | (other > 0)
                stray = either(stray, np.where(matters, one, 0))
        self.set(i, isa.written(i), stray, event.mask)

    def accessed(self, event: Access | Fault, stays: bool) -> None:
        """A load, store or atomic operation, which may have a stray address or store a stray value;
        `stays`: in memory, and not on the way to a function."""
        self.stored = []
        if self.lanes:
            i = event.instruction
            self._follow(i)
            names, where = isa.read(i), stays and event.kind != "load"
            kept = event.space in ("shared", "local", "arguments") and len(i.operands) == 2
            if kept and i.opcode in STORES:
                self.stored = [self._any(i, isa.registers_in(x)) for x in elements(i.operands[1])]
                names = isa.registers_in(i.operands[0])
            self._use(i, names, event.mask, where)

    def passed(self, event: Passed, shadow: Shadow) -> None:
        """A parameter has been copied, undefined values too, or one has been printed."""
        if "stray" not in vars(shadow):  # there have been none
            return
        source = Lanes(replace(event, address=event.source), shadow, "local")
        for table in (shadow.filled, shadow.stray) if event.address is not None else ():
            table[Lanes(event, shadow, "local").cell] = table[source.cell]
        stray = np.where(shadow.filled[source.cell], 0, shadow.stray[source.cell])
        if event.address is None and stray.any():
            here = np.zeros((len(event.blocks), event.threads), np.int64)
            here[source.who] = stray.max()
            self.report(event.instruction, *self.origins[(int(stray.max()) >> DATA) - 1], here)

    def keep(self, lanes: Touched) -> None:
        """The store told of last has filled cells: those that got stray values are undefined."""
        if any(x is not None for x in self.stored):
            each, i = [self._warps(x) for x in self.stored], lanes.event.instruction
            parts = np.stack(each, -1)
            if i.opcode == "stmatrix":
                parts = np.zeros((*each[0].shape, 8), np.int64)
                for n, (x, held) in enumerate(zip(each, held_by(i).values())):
                    parts[:, :, 8 * n + held.row[0], held.column[0]] = x[..., None]
            parts = parts.reshape(len(parts), -1, parts.shape[-1])[lanes.who]
            cells = np.repeat(parts, lanes.per_lane, 1).reshape(len(parts), lanes.per_lane, -1)
            stray = cells.max(-1).ravel()
            lanes.shadow.stray[lanes.cell] = stray
            lanes.shadow.filled[lanes.cell] = stray == 0

    def _follow(self, until: Instruction | None) -> None:
        """What the instructions before that one do with stray values."""
        while self.todo and self.todo[-1] is not until:
            i = self.todo.pop()
            row = isa.lookup(i)
            if i.guard is not None:
                self._use(i, [i.guard.name], self.run.mask)
            if i is self.load or i.opcode in ("shfl", "wgmma") or isa.chooses(i):
                continue  # of which events tell
            stray = None
            if not row.memory or row.kind == "matrix" or row.ends:  # else `accessed` knows
                if row.stays and i.opcode not in ("mma", "stmatrix", "movmatrix"):
                    self._use(i, isa.read(i), self.run.mask)
                if i.opcode not in ("vote", "redux") and not self._is_field(i):
                    stray = self._any(i, isa.read(i))
            if i.opcode == "mma" and stray is not None:
                self._multiplied(i)
            elif i.opcode == "movmatrix" and stray is not None:  # from both lanes with the column
                lane = np.arange(LANES)
                source = lane % 4 * 8 + np.array([[0], [4]]) + lane // 8
                self._set(i, i.operands[0], self._warps(stray)[..., source].max(-2))
            else:
                self.set(i, isa.written(i), stray, self.run.mask, weak=i.guard is not None)

    def set(
        self, i: Instruction, targets: Iterable[str], stray: Stray, mask: Any, weak: bool = False
    ) -> None:
        """The threads of the mask now have stray values in these registers, or no more. weak: only
        some of them were written."""
        for name in ((self.facts.part[id(i)], target) for target in targets):
            before = self.lanes.get(name)
            if before is None and stray is None:
                continue
            new = np.zeros((1, 1), np.int64) if stray is None else stray
            if mask is not None:
                new = np.where(mask, new, 0 if before is None else before)
            self._put(name, either(before, new) if weak else new)

    def _put(self, name: tuple[CodeFacts, str], stray: Stray) -> None:
        if stray.any():
            self.lanes[name] = stray
        else:
            self.lanes.pop(name, None)

    def _use(
        self, i: Instruction, names: Iterable[str], mask: Mask | None, stored: bool = False
    ) -> None:
        """The value of registers matters; what comes of a shuffle, only where it is stored. It is
        told once."""
        strays = self._any(i, names)
        if strays is None:
            return
        strays = strays if mask is None else np.where(mask, strays, 0)
        for number in np.unique(strays >> DATA).tolist():
            here = np.where(strays >> DATA == number, strays, 0)
            if number and (stored or self.origins[number - 1][1]):
                self.report(i, *self.origins[number - 1], here)
                for name, stray in list(self.lanes.items()):
                    self._put(name, np.where((stray == here) & (here > 0), 0, stray))

    def _origin(self, i: Instruction, space: str) -> int:
        """The number of where values come from, above the bits of an address."""
        if (i, space) not in self.origins:
            self.origins.append((i, space))
        return self.origins.index((i, space)) + 1 << DATA

    def _any(self, i: Instruction, names: Iterable[str]) -> Stray:
        keys = [(self.facts.part[id(i)], name) for name in names]
        return reduce(either, map(self.lanes.get, keys), None)


def either(one: Stray, other: Stray) -> Stray:
    """Where one or the other is stray; the first goes before."""
    return other if one is None else one if other is None else np.where(one > 0, one, other)
