"""Which accesses of the PTX become one access of the machine, as ptxas joins them.

Found by compiling small kernels with ptxas 13.0 for sm_90 and reading the SASS, and confirmed by
counting on an H200:

- Loads of a register that nobody needs go, whole or in part: a v4 load of which two words are
  used becomes one of 8 bytes, or two of 4.
- Loads of 4 or 8 bytes, shared or global, at constant distances of one base register are joined:
  two neighbours on an 8-byte boundary make one of 8 bytes (two of 8 make 16). In a 16-byte window,
  such a pair and any third word make one of 16 bytes, unused words included; two words that are
  no pair stay two. Order does not matter, but they must stand in straight-line code with no
  store to that space, st.async, atomic, barrier or fence in between.
- Stores are joined in the same way if they follow each other, with no other access to that space
  or to another window in between; only whole pairs, and two of them, nothing is filled up.
- So are elements of 1 and 2 bytes, among themselves: two neighbours on an even boundary make one
  of twice the size, and again up to 16 bytes. Stores of both sizes mix, loads do not. A load of
  the whole lower half brings a single element (or word) at the start of the upper half too, and a
  vector's elements that would take two loads come with the whole vector.
- The boundary must be certain: from the shifts, products and masks that make the base register,
  the place of the array in shared memory (in order of declaration; one declared with less than
  4 bytes of alignment has only that), or the declared alignment of a variable in global memory. So
  float pointers among the arguments join nothing, and neither does an array after one of odd size.
- Loads by way of ld.global.nc are joined across stores.
- Loads of 4 and 8 bytes of shared memory are joined to those of blocks before theirs, where every
  way from there is free of what ends a join; not into a loop, nor out of one.
- An offset is seen through add, not through or; volatile, predicated, generic and local accesses
  are left as they are.
- Not modelled: an access of 8 bytes or of a vector proves an alignment to ptxas, for others by the
  same register. It moves a load out of a loop, takes a word of global memory from a block before,
  and joins across iterations of a loop that it unrolls itself; lanes that leave such a loop at
  different iterations go different ways through its copies, and make more requests.
"""

from __future__ import annotations

import collections
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ptx.text import flow, isa
from ..ptx.text.forms import elements
from ..ptx.text.syntax import TYPE_BYTES, Address, Entry, Immediate, Instruction, Register, Symbol
from .dataflow import ANY, Alignment, bits, needed
from .loops import loops

WINDOW = 16  # bytes of the widest access
FOLDED = ("global", "shared")  # spaces
NARROW = (1, 2)  # bytes of elements that are joined among themselves
VERSIONS = itertools.count(1)  # of registers' values


Origin = tuple[tuple[str, int] | None, int]  # (root, offset), see `_Member`
Key = tuple[Any, ...]  # what the accesses of a group have in common


class Part(NamedTuple):
    """An access of the machine: `offset` bytes from the address of the PTX instruction."""

    offset: int
    width: int


@dataclass(frozen=True)
class Folding:
    """`parts`: by index of an instruction that loads or stores, what the machine issues for it;
    empty if another instruction brings its words. Instructions that are not in it stay as written.
    `removed`: indices of instructions whose results nobody needs."""

    parts: dict[int, tuple[Part, ...]]
    removed: frozenset[int]


@functools.lru_cache(maxsize=64)
def fold(entry: Entry) -> Folding:
    """What ptxas makes of the entry's accesses; see above."""
    registers, removed = needed(entry)
    alignment = Alignment(entry)
    blocks = flow.blocks(entry)
    before = flow.predecessors(flow.successors(entry, blocks))
    bodies, places = loops(entry), _places(entry)
    around = [{n for n, body in enumerate(bodies) if b.start in body} for b in blocks]
    groups: list[list[_Member]] = []
    ends: dict[int, _State] = {}
    for n, block in enumerate(blocks):
        forwards = all(k in ends and around[k] <= around[n] for k in before[n])
        ends[n] = _met([ends[k] for k in before[n]] if forwards else [])
        code = [entry.instructions[k] for k in block]
        groups += _groups(code, alignment, registers, removed, places, ends[n])
    parts: dict[int, tuple[Part, ...]] = {}
    for group in groups:
        root = group[0].root
        zeros = ANY if root is None else alignment.of(root[0])
        for member, part in _join(group, zeros):
            at = member.instruction.index
            parts[at] = (*parts.get(at, ()), part)
        for member in group:
            parts.setdefault(member.instruction.index, ())
    parts |= dict.fromkeys(removed, ())
    return Folding(parts, frozenset(removed))


def _places(entry: Entry) -> set[str]:
    """The registers that addresses of accesses are, or may be seen through to."""
    bases, sources = set(), collections.defaultdict(list)
    for i in entry.instructions:
        if i.opcode in ("ld", "ldu", "st"):
            address = i.operands[i.opcode != "st"]
            bases.add(getattr(getattr(address, "base", address), "name", ""))
        elif i.opcode in ("mov", "add", "sub"):
            for name in isa.written(i):
                sources[name].append(getattr(i.operands[1], "name", ""))
    return flow.reached(bases, sources)


class _Member(NamedTuple):
    """An instruction with what it does: words at `offset` and so on from the root."""

    instruction: Instruction
    root: tuple[str, int] | None  # a register and which of its values; None: a constant
    offset: int
    size: int  # bytes of a word
    words: tuple[int, ...]  # offsets from the root of those that are needed
    lanes: int


class _State(NamedTuple):
    """What is known at a place: the values of registers that addresses come from, and the loads of
    shared memory that later ones may be joined to."""

    values: dict[str, Origin]
    loads: dict[Key, list[_Member]]


def _met(states: list[_State]) -> _State:
    """What holds whichever way was taken."""
    if not states:
        return _State({}, {})
    first, *others = states
    alike = functools.reduce(
        operator.and_, (x.values.items() for x in others), first.values.items()
    )
    values = dict(alike)
    for name in {name for state in states for name in state.values} - values.keys():
        known = {state.values.get(name, ((name, 0), 0)) for state in states}
        values[name] = known.pop() if len(known) == 1 else ((name, next(VERSIONS)), 0)
    loads = {
        key: group
        for key, group in first.loads.items()
        if group[0].size not in NARROW and all(x.loads.get(key) is group for x in others)
    }
    return _State(values, loads)


def _groups(
    instructions: Iterable[Instruction],
    alignment: Alignment,
    registers: set[str],
    removed: set[int],
    places: set[str],
    state: _State,
) -> list[list[_Member]]:
    """Walk a block; which accesses could be joined, were their addresses aligned: groups that begin
    here, besides those of the state, which is that at the beginning and becomes that at the end."""
    groups: list[list[_Member]] = []
    values = state.values
    loads: dict[str, dict[Key, list[_Member]]] = {"global": {}, "shared": state.loads}  # still open
    stores: dict[str, tuple[Key | None, list[_Member]]] = {}  # by space

    def value(operand: Any) -> Origin:
        """(root, offset) of an address."""
        if isinstance(operand, Address):
            root, offset = value(operand.base)
            return root, offset + operand.offset
        if isinstance(operand, Immediate):
            return None, int(operand.value)
        if isinstance(operand, Symbol):
            if operand.name in alignment.places:
                return None, alignment.places[operand.name] + operand.offset
            return (operand.name, 0), operand.offset
        return values.get(operand.name, ((operand.name, 0), 0))

    for i in instructions:
        memory = isa.lookup(i).memory
        if memory and i.index not in removed:
            member = _member(i, value, registers)
            named = {"generic"} if memory == "fence" else isa.spaces(i)
            every = "generic" in named or (i.opcode == "st" and "async" in i.modifiers)
            touched = FOLDED if every else [s for s in FOLDED if s in named]
            if member is None or len(touched) != 1:
                for space in touched:
                    stores.pop(space, None)
                    if memory != "load" or not isa.STRONG.isdisjoint(i.modifiers):
                        loads[space].clear()
            else:
                (space,) = touched
                key = _key(member)
                if i.opcode == "st":
                    for other in [k for k in loads[space] if "nc" not in k[0]]:
                        del loads[space][other]
                    before, group = stores.get(space, (None, []))
                    taken = {word for m in group for word in m.words}
                    if before != key or taken & set(member.words):
                        group = []
                        groups.append(group)
                    group.append(member)
                    stores[space] = key, group
                else:
                    stores.pop(space, None)
                    group = loads[space].setdefault(key, [])
                    if not group:
                        groups.append(group)
                    group.append(member)
        names = isa.written(i)
        if places.isdisjoint(names):
            continue
        made = _seen_through(i, value) if len(names) == 1 and i.guard is None else None
        for name in names:
            values[name] = made or ((name, next(VERSIONS)), 0)
    return groups


def _seen_through(i: Instruction, value: Callable[[Any], Origin]) -> Origin | None:
    """(root, offset) of what a move or an addition of a constant makes; None for others."""
    if i.opcode == "mov" and isinstance(i.operands[1], (Register, Symbol)):
        if isinstance(i.operands[1], Register) and not i.operands[1].name.startswith("%r"):
            return None  # a special register, a float
        return value(i.operands[1])
    whole = i.opcode in ("add", "sub") and i.modifiers[-1][0] in "usb"
    if whole and isinstance(i.operands[1], Register) and isinstance(i.operands[2], Immediate):
        root, offset = value(i.operands[1])
        return root, offset + (1 if i.opcode == "add" else -1) * int(i.operands[2].value)
    return None


def _member(i: Instruction, value: Callable[[Any], Origin], registers: set[str]) -> _Member | None:
    """None for what is never joined."""
    kind = next((m for m in reversed(i.modifiers) if m in TYPE_BYTES), "")
    size = TYPE_BYTES.get(kind, 0)
    strong = not isa.STRONG.isdisjoint(i.modifiers) or "async" in i.modifiers
    if i.opcode not in ("ld", "ldu", "st") or i.guard or strong or size not in (*NARROW, 4, 8):
        return None
    data, address = i.operands[1::-1] if i.opcode == "st" else i.operands[:2]  # and a cache policy
    root, offset = value(address)
    lanes = elements(data)
    if size * len(lanes) > WINDOW:
        return None
    words = tuple(
        offset + size * n
        for n, element in enumerate(lanes)
        if i.opcode == "st" or getattr(element, "name", None) in registers
    )
    if size in NARROW and len(_parts({word - offset: size for word in words}, WINDOW, True)) > 1:
        words = tuple(range(offset, offset + size * len(lanes), size))
    return _Member(i, root, offset, size, words, len(lanes))


def _key(member: _Member) -> Key:
    """What accesses of one group have in common; accesses of a window wide stay in theirs."""
    hints = frozenset(
        m for m in member.instruction.modifiers if m not in TYPE_BYTES and m not in ("v2", "v4")
    )
    mixes = member.instruction.opcode == "st" and member.size in NARROW
    return hints, member.root, NARROW if mixes else member.size, member.offset // WINDOW


def _join(group: list[_Member], zeros: int) -> Iterator[tuple[_Member, Part]]:
    """Yield (member, part): what is issued, and for which of the group's instructions."""
    size, fill = group[0].size, group[0].instruction.opcode != "st"
    alone = [
        m for m in group if m.lanes > 1 and min(zeros, bits(m.offset)) < bits(m.size * m.lanes)
    ]  # aligned in a way that the base does not show
    for member in alone:
        words = dict.fromkeys((word - member.offset for word in member.words), size)
        for part in _parts(words, WINDOW, fill):
            yield member, part
    apart = {m.instruction.index for m in alone}
    group = [m for m in group if m.instruction.index not in apart]
    owner: dict[int, _Member] = {}
    for member in group:
        for word in member.words:
            owner.setdefault(word, member)
    if not owner:
        return
    start = min(owner) // WINDOW * WINDOW
    words = {word - start: member.size for word, member in owner.items()}
    for part in _parts(words, 1 << min(zeros, 4), fill):
        begin = start + part.offset
        covered = [owner[word] for word in owner if begin <= word < begin + part.width]
        first = min(covered, key=lambda member: member.instruction.index)
        yield first, Part(begin - first.offset, part.width)


def _parts(sizes: dict[int, int], aligned: int, fill: bool) -> list[Part]:
    """The accesses that bring these words of a window, whose start has that alignment; sizes: by
    offset, in bytes. fill: words that nobody asked for may come too."""
    words, size = set(sizes), min(sizes.values(), default=0)
    if size in NARROW:
        return _narrow(sizes, 0, WINDOW, aligned, fill)
    if size == 8:
        whole = aligned >= 16 and len(words) == 2
        return [Part(0, 16)] if whole else [Part(word, 8) for word in sorted(words)]
    pairs = [p for p in (0, 8) if aligned >= 8 and {p, p + 4} <= words]
    if aligned >= 16 and pairs and (len(words) == 4 or (fill and len(words) == 3)):
        return [Part(0, 16)]
    single = sorted(words - {p + n for p in pairs for n in (0, 4)})
    return sorted([Part(p, 8) for p in pairs] + [Part(word, 4) for word in single])


def _narrow(sizes: dict[int, int], start: int, width: int, aligned: int, fill: bool) -> list[Part]:
    """`_parts` of elements of 1 and 2 bytes, in a stretch of the window."""
    if sizes.get(start) == width:
        return [Part(start, width)]
    if width == 1:
        return []
    half = width // 2
    low = _narrow(sizes, start, half, aligned, fill)
    high = _narrow(sizes, start + half, half, aligned, fill)
    if width <= aligned and low == [Part(start, half)] and len(high) == 1:
        offset, there = high[0]
        element = there == sizes.get(offset) or there == 4
        if there == half or (fill and offset == start + half and element):
            return [Part(start, width)]
    return low + high
