"""What the hardware does not check: is every register read after it has been written, and written
after it has been read?

A warp issues its instructions in order, and nothing but the control bits holds them back. What
takes a fixed time is followed by `stall` cycles enough; what takes as long as it takes raises a
scoreboard, for which the next user waits. Between what writes and what reads, the compiler never
leaves less than the distances here: its own code of steps 02 to 17 has no findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from typing import NamedTuple

from anywarp.sass import Instruction, flow
from anywarp.sass.encoding import NO_SCOREBOARD, P0, SCOREBOARDS, UR0, ZERO, name

FIXED = {"alu", "wide", "uniform"}  # the kinds that take a known time
FMA = {"FFMA", "FMUL", "IMAD"}
IN_ORDER = ("LDS", "S2UR")  # whose results come in the order of the code
COMMIT = "LDGDEPBAR"  # which ends a group of copies
FORGET = 20  # cycles after which all that takes a fixed time is done
LONGEST_STAY = 11  # cycles that a warp stalls which is preferred: it does not wait for longer
RAISED = 2  # cycles from raising a scoreboard to the instruction that waits for it
STALLS = {"BRA": 5, "EXIT": 5, "BSYNC": 5, "DEPBAR": 4}  # the least after these; else 1
LATER = 2  # IMAD.WIDE reads the upper half of its addend, and writes its lower half, so far apart


def _cycles(text: str) -> dict[tuple[str, str], int]:
    """By two units, what stands behind them."""
    return {(a, b): int(n) for a, b, n in map(str.split, text.split(", "))}


# Cycles from issue to issue, by the unit that writes and the one that reads. What no kernel of this
# book has shown takes UNSEEN.
REGISTERS = _cycles(
    "alu alu 4, alu variable 4, alu R2UR 4, alu fma 5, alu memory 5, fma fma 4, fma alu 5, "
    "fma memory 5, fma R2UR 5, HFMA2.MMA alu 10, HFMA2.MMA fma 10"
)
PREDICATES = _cycles("alu alu 4, alu memory 13, alu control 13")
UNIFORM = _cycles(  # for ULDC hardware waits
    "uniform uniform 4, UMOV uniform 2, uniform alu 6, uniform fma 6, UMOV alu 6, UMOV fma 6, "
    "uniform memory 9, uniform variable 9, UMOV memory 9, ULDC memory 12, ULDC alu 2, ULDC fma 2, "
    "ULDC uniform 2, R2UR alu 13, R2UR uniform 13, R2UR variable 13"
)
GUARDS = {"alu": 13, "uniform": 11}  # from what writes a predicate to what it guards
UNSEEN = 16
OVERTAKES = _cycles(  # from what writes first to what writes then
    "alu alu 1, fma alu 2, HFMA2.MMA alu 6, HFMA2.MMA fma 6, ULDC uniform 2, ULDC ULDC 3"
)
LATE = ("R2UR", "ULDC")  # which anything else may overtake for UNSEEN cycles


def unit(i: Instruction) -> str:
    """The name that an instruction has in the tables above."""
    if i.name in ("HFMA2.MMA", "UMOV", "ULDC", "R2UR"):
        return i.name
    return "fma" if i.name in FMA or i.kind == "wide" else i.kind


def needed(writer: Instruction, place: int, reader: Instruction) -> int:
    """How many cycles after `writer` an instruction that reads `place` may be issued."""
    source, use = unit(writer), unit(reader)
    if reader.guard and reader.guard[0] == place:
        return GUARDS.get(source, UNSEEN)
    if place >= UR0:
        return UNIFORM.get((source, "uniform" if use in ("UMOV", "ULDC") else use), UNSEEN)
    if place >= P0:
        return PREDICATES.get((source, use), UNSEEN)
    cycles = REGISTERS.get((source, use), UNSEEN)
    lower = writer.name == "IMAD.WIDE" and place == writer.writes[0] and use == "alu"
    upper = reader.kind == "wide" and all(place not in o or o[0] != place for o in reader.reads)
    return cycles - LATER if lower or (upper and source == "alu") else cycles


def apart(writer: Instruction, place: int, other: Instruction) -> int:
    """How many cycles after `writer` another instruction that writes `place` may be issued."""
    source = unit(writer)
    least = UNSEEN if source in LATE and place >= UR0 else 0
    return OVERTAKES.get((source, unit(other)), least)


class Pending(NamedTuple):
    """That an instruction has not written or not read a place yet."""

    place: int
    what: str
    by: Instruction


@dataclass
class State:
    """What is under way: how many cycles ago which instruction wrote a place; for what takes as
    long as it takes, the scoreboards any of which tells that it is over; how many cycles ago each
    scoreboard was raised."""

    written: dict[tuple[int, Instruction], int] = dataclass_field(default_factory=dict)
    pending: dict[Pending, frozenset[int]] = dataclass_field(default_factory=dict)
    raised: dict[int, int] = dataclass_field(default_factory=dict)

    def copy(self) -> State:
        """The same, to go on from here in another way."""
        return State(dict(self.written), dict(self.pending), dict(self.raised))

    def join(self, other: State) -> bool:
        """Takes in what may be under way on another path too; whether that is new."""
        before = self.copy()
        for writer, age in other.written.items():
            self.written[writer] = min(age, self.written.get(writer, age))
        for board, age in other.raised.items():
            self.raised[board] = min(age, self.raised.get(board, age))
        for key, boards in other.pending.items():
            self.pending[key] = boards & self.pending.get(key, boards)
        return self != before

    def age(self, cycles: int) -> None:
        """So many cycles go by."""
        self.written = {k: n + cycles for k, n in self.written.items() if n + cycles < FORGET}
        self.raised = {k: n + cycles for k, n in self.raised.items() if n + cycles < FORGET}


@dataclass(frozen=True)
class Hazard:
    """What is wrong with issuing an instruction now, and the remedies: to wait for one of these
    scoreboards, or to issue it so many cycles later."""

    text: str
    boards: frozenset[int] = frozenset()
    cycles: int = 0


def findings(code: Sequence[Instruction]) -> list[str]:
    """A line for each hazard, in the order of the code."""
    parts = flow.blocks(code)
    early = [
        f"{n}: {code[n].name} {hazard.text}"
        for first, state in sorted(entries(code, parts).items())
        for n in range(first, parts[first].end)
        for hazard in step(state, code[n])
    ]
    return early + counted(code) + reuse(code, parts.values())


def entries(code: Sequence[Instruction], parts: Mapping[int, flow.Block]) -> dict[int, State]:
    """What may be under way when each block begins."""
    states = {0: State()}
    todo = [0]
    while todo:
        part = parts[todo.pop()]
        state = states[part.first].copy()
        for i in code[part.first : part.end]:
            step(state, i)
        for successor in part.successors:
            new = successor not in states
            if states.setdefault(successor, state.copy()).join(state) or new:
                todo.append(successor)
    return states


def step(state: State, i: Instruction) -> list[Hazard]:
    """Issue an instruction: what is wrong with that, and the state after it."""
    waited = {n for n in range(SCOREBOARDS) if i.control.wait >> n & 1}
    hazards = [
        Hazard(f"waits for scoreboard {n} too soon after it was raised", cycles=RAISED - age)
        for n, age in state.raised.items()
        if n in waited and age < RAISED
    ]
    if i.control.stall < STALLS.get(i.name, 1):
        hazards.append(Hazard(f"stalls {i.control.stall} cycles, fewer than it takes"))
    if i.control.stall > LONGEST_STAY and i.control.stay:
        hazards.append(Hazard(f"stalls {i.control.stall} cycles, but the warp stays"))
    if waited:
        state.pending = {k: boards for k, boards in state.pending.items() if not boards & waited}
    if not i.never:
        hazards += early(state, i)
        _begin(state, i)
    state.age(i.control.stall)
    return hazards


def early(state: State, i: Instruction) -> list[Hazard]:
    """What an instruction reads or writes that another has not done with."""
    hazards = []
    reads, writes = i.places_read, i.writes
    for (place, writer), age in state.written.items():
        if place in reads and (lacking := needed(writer, place, i) - age) > 0:
            text = f"reads {name(place)} {age} cycles after {writer.name} was issued"
            hazards.append(Hazard(text, cycles=lacking))
        if place in writes and (lacking := apart(writer, place, i) - age) > 0:
            hazards.append(Hazard(f"writes {name(place)} before {writer.name} has", cycles=lacking))
    for (place, what, by), boards in state.pending.items():
        if what == "write" and (place in reads or place in writes):
            text = f"touches {name(place)}, which {by.name} has not written yet"
            hazards.append(Hazard(text, boards))
        if what == "read" and place in writes and not (by.kind == i.kind == "memory"):
            text = f"writes {name(place)}, which {by.name} has not read yet"
            hazards.append(Hazard(text, boards))
    return hazards


def _begin(state: State, i: Instruction) -> None:
    """Note what an instruction is to write and to read."""
    if i.kind == "control":
        return
    if i.kind in FIXED:
        for place, writer in list(state.written):
            if place in i.writes and not i.guard:  # it may not write
                del state.written[place, writer]
        for place in i.writes:
            state.written[place, i] = 0
        return
    write, read = (frozenset({n} - {NO_SCOREBOARD}) for n in (i.control.write, i.control.read))
    both = read | write
    state.raised |= dict.fromkeys(both, 0)
    for key in state.pending:  # what one signals, those before it in its queue have done, too
        if key.what == "read" and key.by.kind == i.kind == "memory":
            state.pending[key] |= both
        elif key.what == "write" and key.by.name == i.name in IN_ORDER:
            state.pending[key] |= write
    for place in i.writes:
        state.pending[Pending(place, "write", i)] = write
    for place in i.places_read:
        if place < P0:  # predicates and uniform registers are read at issue
            state.pending[Pending(place, "read", i)] = both


def counted(code: Sequence[Instruction]) -> list[str]:
    """The scoreboard that counts groups of copies counts nothing else."""
    boards = {i.control.write for i in code if i.name == COMMIT}
    return [
        f"{n}: {i.name} raises the scoreboard that counts copies"
        for n, i in enumerate(code)
        if i.name != COMMIT and boards & {i.control.write, i.control.read} - {NO_SCOREBOARD}
    ]


def reuse(code: Sequence[Instruction], parts: Iterable[flow.Block]) -> list[str]:
    """An operand that stays in its reuse cache must be what the next user of that cache reads, in
    the same basic block, and the register must still hold it."""
    return [
        f"{n}: {code[n].name} {text}"
        for part in parts
        for n in range(part.first, part.end)
        for slot in range(4)
        if code[n].control.reuse >> slot & 1 and (text := reused(code[n : part.end], slot))
    ]


def reused(code: Sequence[Instruction], slot: int) -> str | None:
    """What is wrong with keeping an operand of the first instruction for reuse."""
    kept = operand(code[0], slot)
    registers = {kept}.union(*(group for group in code[0].reads if group[0] == kept))
    if registers & set(code[0].writes):
        return f"overwrites {name(kept)}, which it keeps for reuse"
    for i in code[1:]:
        if not i.never and operand(i, slot) == kept:
            return None
        if registers & set(i.writes):
            return f"keeps {name(kept)} for reuse, which {i.name} overwrites"
        other = operand(i, slot)
        if other != ZERO and other % 2 == kept % 2 and i.kind in ("alu", "wide"):
            return f"keeps {name(kept)} for reuse, but {i.name} reads {name(other)}"
    return f"keeps {name(kept)} for reuse, but nothing reads it"


def operand(i: Instruction, slot: int) -> int:
    """The vector register that an instruction reads through reuse cache 0, 1 or 2."""
    return i.slots[slot] if slot < len(i.slots) else ZERO
