"""Another order and other registers for the main loop of a compiled SGEMM.

Only the loop's instructions and the number of registers change: what a pass expects in which
register when it begins, and leaves when it ends, stays as the compiler has it. What comes out is
proved equal before anybody runs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from anywarp.analysis import blocks_by_registers
from anywarp.sass import Instruction, decode, elf, flow, instructions, placed
from anywarp.sass.encoding import NO_SCOREBOARD, Control, with_control

from . import hazards
from .list_schedule import Plan, Product, order
from .prove import SPARE, prove
from .shape import FLOATS, PRODUCT, Element, Loop, Refused, loop

ARCHITECTURE = "sm_90"
HIGHEST = 252  # the last register that a kernel may use, with SPARE at most 255
BEST = Plan()
LONGEST = 15  # cycles of a stall
LEAST = 256  # products of a loop that is worth it
LOADED = 1  # the scoreboard of the loads
VALUE = 2  # of other results that take as long as they take
READ = (3, 4, 5)  # of what reads its operands later, in turn
COPIED = 0  # of the copies, as the compiler has it


def rewrite(cubin: bytes, plan: Plan = BEST) -> bytes:
    """The cubin with its main loops in another order, proved equal.

    Raises Refused, or Unknown, for code that is not understood, Refused also where the registers
    of another order would cost a block of an SM, and Different if the proof fails.
    """
    code = instructions(cubin)
    words = [i.word for i in code]
    parts = flow.blocks(code)
    loops = main_loops(code)
    if not loops:
        raise Refused("there is no loop of one block with enough products")
    entries = hazards.entries(code, parts)
    for part in loops:
        new = body(code, loop(code, part), entries[part.first], plan)
        words[part.first : part.end] = [i.word for i in new]
    highest = max(r for w in words for r in (*decode(w).writes, *decode(w).places_read) if r < 255)
    before = elf.registers(cubin)
    count = max(before, highest + SPARE)
    threads = elf.most_threads(cubin)
    if threads and blocks_by_registers(count, threads) < blocks_by_registers(before, threads):
        raise Refused(f"{count} registers for {before}: an SM has room for fewer blocks")
    result = elf.with_registers(elf.with_words(cubin, words), count)
    prove(cubin, result)
    return result


def main_loops(code: Sequence[Instruction]) -> list[flow.Block]:
    """The loops of one block with many products."""
    return [
        part
        for part in flow.blocks(code).values()
        if part.first in part.successors
        and sum(i.name == PRODUCT for i in code[part.first : part.end]) >= LEAST
    ]


def body(
    code: Sequence[Instruction], shape: Loop, entry: hazards.State, plan: Plan
) -> list[Instruction]:
    """The new instructions of a loop."""
    registers = _registers(code, shape)
    template = next(i.word for i in code[shape.block.first : shape.block.end] if i.name == PRODUCT)
    new = []
    for item in order(code, shape, plan):
        if isinstance(item, Product):
            new.append(_product(template, shape, registers, item, plan))
        elif item in registers:
            word = placed(code[item].word, "d", registers[item])
            new.append(decode(with_control(word, Control(1, 1, LOADED, NO_SCOREBOARD, 0, 0))))
        else:
            new.append(_other(code[item], len(new)))
    if plan.reuse:
        new = [_kept(new, n) for n in range(len(new))]
    return _settled(new, entry)


def _registers(code: Sequence[Instruction], shape: Loop) -> dict[int, int]:
    """The first register that each load writes. Steps take two sets in turn: the first is where a
    pass expects its first operands, the second is of registers that nothing else has."""
    if len(shape.steps) % 2:
        raise Refused("an odd number of steps")
    sums = {r for line in shape.sums for r in line}
    first = {start + n for start in shape.next.values() for n in range(FLOATS)}
    loads = [n for step in shape.steps for n in (*step.loads, *shape.next)]
    others = {r for n in (*shape.others, *loads) for r in code[n].places_read}
    others |= {r for n in shape.others for r in code[n].writes}
    if others & (sums | first):
        raise Refused("other instructions use registers of the sums")
    live = flow.live(tuple(code))  # what is read after the loop begins before it is written
    begins = shape.block.first, *shape.block.successors
    taken = (sums | first | others).union(*(live[n] for n in begins))
    free = [q for q in range(0, HIGHEST, FLOATS) if not taken & set(range(q, q + FLOATS))]
    registers = dict(shape.next)
    for k, step in enumerate(shape.steps[1:], 1):
        pool = free if k % 2 else list(shape.next.values())
        if len(pool) < len(step.loads):
            raise Refused("there are not enough free registers")
        registers |= dict(zip(step.loads, pool))
    return registers


def _product(
    template: int, shape: Loop, registers: dict[int, int], at: Product, plan: Plan
) -> Instruction:
    """A multiply-add of a step, as the template but for its registers."""

    def register(element: Element) -> int:
        return element.n if element.load < 0 else registers[element.load] + element.n

    step, total = shape.steps[at.step], shape.sums[at.row][at.column]
    word = with_control(template, Control(1, plan.stay, NO_SCOREBOARD, NO_SCOREBOARD, 0, 0))
    numbers = total, total, register(step.columns[at.column]), register(step.rows[at.row])
    for letter, number in zip("dcab", numbers):
        word = placed(word, letter, number)
    return decode(word)


def _other(i: Instruction, n: int) -> Instruction:
    """An instruction with scoreboards of its own, and no stall that it does not need."""
    write, read = COPIED if i.name == "LDGDEPBAR" else NO_SCOREBOARD, NO_SCOREBOARD
    if i.kind in ("memory", "variable") and not i.never:
        write = VALUE if i.writes else NO_SCOREBOARD
        read = READ[n % len(READ)]
    stall = i.control.stall if i.kind == "control" or i.never else 1
    return decode(with_control(i.word, Control(stall, _stay(stall, 1), write, read, 0, 0)))


def _stay(stall: int, stay: int) -> int:
    """Whether the warp stays: not while it stalls for long."""
    return stay if stall <= hazards.LONGEST_STAY else 0


def _kept(code: Sequence[Instruction], n: int) -> Instruction:
    """A product that keeps in the reuse caches what the next product reads there."""
    i = code[n]
    following = next((j for j in code[n + 1 :] if j.name == PRODUCT), None)
    if i.name != PRODUCT or following is None:
        return i
    same = [slot for slot in (0, 1) if i.slots[slot] == following.slots[slot]]
    kept = sum(1 << slot for slot in same if hazards.reused(code[n:], slot) is None)
    return decode(with_control(i.word, i.control._replace(reuse=kept)))


def _settled(code: Sequence[Instruction], entry: hazards.State) -> list[Instruction]:
    """The same code with the waits and stalls that it needs. It begins by waiting for all that may
    be under way before the loop, and ends by waiting for all of its own."""
    state = entry.copy()
    done: list[Instruction] = []
    for n, i in enumerate(code):
        wait = sum(1 << board for board in range(1, 6)) if n in (0, len(code) - 1) else 0
        pending = hazards.early(state, i)
        if any(not hazard.boards and not hazard.cycles for hazard in pending) and n:
            raise Refused("nothing tells when an operand is there")
        wait |= sum({1 << max(hazard.boards) for hazard in pending if hazard.boards})
        i = decode(with_control(i.word, i.control._replace(wait=wait)))
        late = max((hazard.cycles for hazard in hazards.step(state.copy(), i)), default=0)
        if late and done:
            last = done[-1].control
            stall = last.stall + late
            if stall > LONGEST:
                raise Refused("an instruction would have to wait longer than can be said")
            last = last._replace(stall=stall, stay=_stay(stall, last.stay))
            done[-1] = decode(with_control(done[-1].word, last))
            state.age(late)
        hazards.step(state, i)
        done.append(i)
    return done
