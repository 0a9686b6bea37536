"""The order of a rewritten loop.

The products come row by row, there and back like a snake, so that each shares an operand with the
one before. Between them stand the loads for the next step, one every few products, and all other
instructions, in the compiler's order but for what a load needs. The barrier comes some products
before the last step, whose loads are of the next tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anywarp.sass import Instruction

from .shape import Loop, Refused

COPY, WAIT, BARRIER = "LDGSTS", "DEPBAR", "BAR"
TAIL_GAP = 6  # products between what comes after the wait for copies
FIRST = 10  # products before the first load of a pass, whose address has just been computed
FENCES = {WAIT, BARRIER, "STS", "STG", "BRA"}
EFFECTS = {"memory", "control", "variable"}  # kinds that keep their order among themselves


@dataclass(frozen=True)
class Plan:
    """How a loop is ordered: the distances are in products."""

    load_gap: int = 14
    other_gap: int = 14
    barrier: int = 40  # before the last step
    first_load: int = 20  # after a step begins
    snake: bool = True
    by_rows: bool = True
    reuse: bool = True
    stay: int = 1  # the yield bit of the products


class Product(NamedTuple):
    """A multiply-add of a step of k: of the sum in this row and column."""

    step: int
    row: int
    column: int


def order(code: Sequence[Instruction], loop: Loop, plan: Plan) -> list[Product | int]:
    """The new order: products, and the numbers of all other instructions."""
    before = _before(code, loop)
    rest = list(loop.others[:-1])
    wait = next((n for n in rest if code[n].name == WAIT), None)
    if wait is None or sum(code[n].name == BARRIER for n in rest) != 1:
        raise Refused("a pass is not one wait for copies and one barrier")
    done: set[int] = set()
    result: list[Product | int] = []

    def issue(n: int) -> None:
        if n not in done:
            done.add(n)
            for other in sorted(before[n]):
                issue(other)
            result.append(n)

    products = list(_products(loop, plan))
    per_step = len(products) // len(loop.steps)
    turn = len(products) - per_step - plan.barrier
    head = rest[: rest.index(wait)]
    gap = max(1, min(plan.other_gap, turn // max(1, len(head))))
    for load in loop.steps[1].loads:  # what makes their addresses comes first of all
        for n in sorted(before[load]):
            issue(n)
    due = 0
    for position, product in enumerate(products):
        for load in _loads(loop, plan, position, per_step):
            issue(load)
        while position >= due and rest and (rest[0] != wait or position >= turn):
            n = rest.pop(0)
            if n in done:
                continue
            issue(n)
            if n == wait:
                gap = min(gap, TAIL_GAP)
            due = position + (0 if code[n].never else gap)
        result.append(product)
    return result + [n for n in rest if n not in done] + [loop.others[-1]]


def _products(loop: Loop, plan: Plan) -> Iterator[Product]:
    """Yield the products of all steps, in their new order."""
    outer, inner = len(loop.sums), len(loop.sums[0])
    if not plan.by_rows:
        outer, inner = inner, outer
    for step in range(len(loop.steps)):
        for a in range(outer):
            back = plan.snake and a % 2
            for b in reversed(range(inner)) if back else range(inner):
                yield Product(step, a, b) if plan.by_rows else Product(step, b, a)


def _loads(loop: Loop, plan: Plan, position: int, per_step: int) -> Sequence[int]:
    """The loads that stand before the product at a position."""
    step, offset = divmod(position, per_step)
    following = loop.steps[step + 1].loads if step + 1 < len(loop.steps) else tuple(loop.next)
    first = plan.first_load if step else max(plan.first_load, FIRST)
    gap = max(1, min(plan.load_gap, (per_step - first) // len(following)))
    n, left = divmod(offset - first, gap)
    return following[n : n + 1] if left == 0 and n >= 0 else ()


def _before(code: Sequence[Instruction], loop: Loop) -> dict[int, set[int]]:
    """Of each instruction but products, those that must come before it."""
    loads = {load for step in loop.steps for load in step.loads} | set(loop.next)
    numbers = sorted(loads | set(loop.others))
    return {
        n: {m for m in numbers[:at] if _ordered(code[m], code[n], m in loads, n in loads)}
        for at, n in enumerate(numbers)
    }


def _ordered(first: Instruction, second: Instruction, load: bool, other_load: bool) -> bool:
    """Whether the order of two instructions matters; what loads write does not count, since their
    registers are assigned anew."""
    writes = set() if load else set(first.writes)
    later = set() if other_load else set(second.writes)
    if writes & second.places_read or later & first.places_read or writes & later:
        return True
    if load or other_load:
        # A load may move up over a copy, not down, and over no wait, barrier or store.
        others = FENCES | ({COPY} if load else set())
        return first.name in others or second.name in others
    return {first.kind, second.kind} <= EFFECTS and not (first.never and second.never)
