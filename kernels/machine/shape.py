"""What the main loop of a tiled SGEMM does, read from its machine code.

In each step of k a thread multiplies a column of A's elements by a row of B's and adds the products
to its sums. The compiler has mixed the steps, spread them over registers and renamed the sums on
the way; here the loop is executed with names for values, and the steps are taken apart again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from anywarp.sass import Instruction
from anywarp.sass.flow import Block

LOAD, PRODUCT, FLOATS = "LDS", "FFMA", 4


class Refused(ValueError):
    """Code that the rewriter does not know: nothing is wrong with it, but it stays as it is."""


class Element(NamedTuple):
    """A value that products read: register `n` of what load number `load` brings, or, with -1, what
    is in register `n` when a pass begins."""

    load: int
    n: int


Products = dict[int, list[tuple[Element, Element]]]  # of each sum, in the order of its steps


@dataclass(frozen=True)
class Step:
    """A step of k: its operands by slot, in the order of the sums' rows and columns, and the loads
    that bring them, in the order of the code; none for what the pass before has loaded."""

    columns: tuple[Element, ...]
    rows: tuple[Element, ...]
    loads: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A loop body: its steps; `sums[row][column]` is the register of that sum when a pass begins
    and ends; `next` has the loads for the first step of the next pass and the register that each
    writes; the rest of the instructions are in `others`, the branch last. Instructions are numbers
    in the code."""

    block: Block
    steps: tuple[Step, ...]
    sums: tuple[tuple[int, ...], ...]
    next: dict[int, int]
    others: tuple[int, ...]


def loop(code: Sequence[Instruction], block: Block) -> Loop:
    """The steps of a loop of one block. Raises Refused if it is anything else."""
    held: dict[int, object] = {}  # by register: an Element, or the number of a sum's register
    products: Products = {}
    loads, others = [], []
    for n in range(block.first, block.end):
        i = code[n]
        if i.name == PRODUCT:
            _product(i, held, products)
        elif i.name == LOAD and not i.never:
            if len(i.writes) != FLOATS or i.guard:
                raise Refused(f"load {n} does not bring {FLOATS} floats")
            loads.append(n)
            held |= {place: Element(n, e) for e, place in enumerate(i.writes)}
        else:
            others.append(n)
            held |= dict.fromkeys(i.writes)
    sums = [r for r in products if held.get(r) == r]
    if len(sums) != len(products):
        raise Refused("a sum does not end in the register where it began")
    steps, grid = _steps(products)
    following = {}
    for element in steps[0].columns + steps[0].rows:
        now = held.get(element.n)
        if element.load != -1 or not isinstance(now, Element) or now.n != element.n % FLOATS:
            raise Refused("the first step's operands are not loaded by the pass before")
        following[now.load] = element.n - now.n
    used = {load for step in steps for load in step.loads} | set(following)
    if used != set(loads):
        raise Refused("a load brings nothing that the products read")
    return Loop(block, steps, grid, following, tuple(others))


def _product(i: Instruction, held: dict[int, Any], products: Products) -> None:
    """Note a multiply-add of the pass. Raises Refused for one that is none of an outer product."""
    column, row, addend = i.slots
    if i.guard or -1 in i.slots:
        raise Refused("a product with a guard, or of fewer than three registers")
    total = held.get(addend, addend)
    if not isinstance(total, int):
        raise Refused("a product is added to what is not a sum")
    first, second = (held.get(r, Element(-1, r)) for r in (column, row))
    if not isinstance(first, Element) or not isinstance(second, Element):
        raise Refused("a factor is not what a load brings")
    products.setdefault(total, []).append((first, second))
    held[i.writes[0]] = total
    if held.get(addend) == total and addend != i.writes[0]:
        held[addend] = None


def _steps(products: Products) -> tuple[tuple[Step, ...], tuple[tuple[int, ...], ...]]:
    """Each sum takes part in all steps, in their order; in each, the sums are the same grid.

    Which of its factors a product reads first differs from step to step: what tells an element of
    A's from one of B's is the line of the grid, the set of sums, that it goes into.
    """
    depth = {len(pairs) for pairs in products.values()}
    if len(depth) != 1:
        raise Refused("the sums do not have equally many products")
    lines = [_lines(products, k) for k in range(depth.pop())]
    columns = [lines[0][c] for c in sorted({pairs[0][0] for pairs in products.values()})]
    rows = [lines[0][r] for r in sorted({pairs[0][1] for pairs in products.values()})]
    crossings = [len(row & column) for row in rows for column in columns]
    if crossings != [1] * len(products):
        raise Refused("the products are no outer products")
    steps = []
    for line in lines:
        element = {sums: operand for operand, sums in line.items()}
        if set(element) != {*columns, *rows}:
            raise Refused("the steps are not outer products for the same sums")
        of_columns, of_rows = (tuple(element[sums] for sums in part) for part in (columns, rows))
        loads = {operand.load for operand in of_columns + of_rows} - {-1}
        steps.append(Step(of_columns, of_rows, tuple(sorted(loads))))
    grid = tuple(tuple(next(iter(row & column)) for column in columns) for row in rows)
    return tuple(steps), grid


def _lines(products: Products, k: int) -> dict[Element, frozenset[int]]:
    """The sums that each operand of a step goes into."""
    lines: dict[Element, set[int]] = {}
    for total, pairs in products.items():
        for element in pairs[k]:
            lines.setdefault(element, set()).add(total)
    return {element: frozenset(sums) for element, sums in lines.items()}
