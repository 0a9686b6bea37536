"""Contraction: which products are taken into a following sum, and round only with it.

NVRTC writes most multiply-adds as `fma.rn` itself. It leaves some as `mul` and `add` or `sub`
without a rounding mode (x - a * b, products with several uses), and PTX lets ptxas fuse these
(PTX ISA, chapter 9.7.3, add: "an add instruction with no rounding modifier ... may be optimized").
What ptxas 12.8 and 13.0 do for sm_90 was read from their machine code; the cases are
`tests/data/contraction.json`. The rule, which all of them follow:

- A product can go if `mul` has no rounding mode and no `.sat`, no guard, the same type and `.ftz`
  as the sum, and if *every* use of it is an operand of such a sum. `neg` and `mov` in between
  are looked through. Any other use (a store, a comparison, a factor, an addend of `fma`, a phi)
  keeps it, and then none of its sums is fused; so does a sum of the product with itself.
  `div.approx` and `div.full` end in such a product, of the dividend and a reciprocal.
- Only within straight-line code. What ptxas writes as code with a branch to a slow path ends it
  too: division, square root and reciprocal that round; and so does a fence. Barriers, shuffles,
  votes and atomics do not, nor do predicated instructions. A product of a constant,
  or of a parameter of the kernel, may go anywhere where it comes first, but not out of a loop.
- Sums are taken in program order. The other operand of a sum that took a product in is now an
  addend of an fma, so that the product there, if it is one, stays.
- Of two products that could go, the one with fewer uses goes; of two with as many, the first
  operand. A product with several uses stays if one of its sums has another product, used
  only there: that sum would take the other.

Open: where ptxas moves a sum out of a loop in which nothing of it changes, it may meet its
product there. Registers that hand-written PTX assigns more than once are not followed.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from ..aliases import Operand
from . import flow, isa
from .syntax import Function, Immediate, Instruction, Register, Vector

SLOW = {"div", "rem", "sqrt", "rcp"}  # a branch to a slow path, or a call, unless approximate
TYPES = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"}


def fused(entry: Function) -> dict[int, int]:
    """Index of each add or sub that ptxas makes an fma -> index of the mul that it takes in."""
    return _plan(entry)[0]


@functools.lru_cache(maxsize=64)
def _products(entry: Function) -> tuple[dict[str, str], dict[str, int]]:
    """(register -> the product it holds, perhaps negated; product's register -> its mul).
    A register that is assigned more than once holds none."""
    code = entry.instructions
    times = assignments(code)
    made = ((i.operands[0].name, n) for n, i in enumerate(code) if is_product(i))
    products = {name: n for name, n in made if times[name] == 1}
    behind = {name: name for name in products}
    for i in code if products else ():
        if i.opcode in ("neg", "mov") and i.guard is None and isinstance(i.operands[0], Register):
            product = _product_of(i.operands[1], behind)
            if product and times[i.operands[0].name] == 1:
                if i.opcode == "mov" or _form(i) == _form(code[products[product]]):
                    behind[i.operands[0].name] = product
    return behind, products


@functools.lru_cache(maxsize=64)
def _plan(entry: Function) -> tuple[dict[int, int], dict[str, list[Any]]]:
    """(sum -> the mul it takes in, product's register -> its sums, None for another use)."""
    code, loops = entry.instructions, _loops(entry)
    uses: dict[str, list[Any]] = defaultdict(list)
    behind, products = _products(entry)
    stretch = _stretches(entry) if products else []
    given = {
        i.operands[0].name
        for i in code
        if i.opcode == "ld" and "param" in i.modifiers and isinstance(i.operands[0], Register)
    }
    for n, i in enumerate(code if products else ()):
        for product in {behind[name] for name in (*isa.read(i), *isa.written(i)) if name in behind}:
            m = products[product]
            if n == m or _passes_on(i, behind):
                continue
            terms = [_product_of(x, behind) for x in i.operands[1:3]]
            near = stretch[m] == stretch[n]
            if _of_constant(code[m], given):
                near = near or all(n in loop for loop in loops if m in loop)
            fits = is_sum(i) and _form(i) == _form(code[m]) and terms.count(product) == 1
            uses[product].append(n if fits and m < n and near else None)
    able = {p for p in products if None not in uses[p]}
    taken: dict[int, int] = {}

    def summed(n: int) -> list[str]:
        terms = [_product_of(x, behind) for x in code[n].operands[1:]]
        return [p for p in terms if p in able]

    def can_go(product: str) -> bool:
        m, sums = products[product], uses[product]
        if any(taken.get(n, m) != m for n in sums):
            return False
        return len(sums) == 1 or not any(
            len(uses[p]) == 1 for n in sums if n not in taken for p in summed(n)
        )

    for n in sorted({n for p in able for n in uses[p]}):
        if candidates := [p for p in summed(n) if can_go(p)]:
            taken[n] = products[min(candidates, key=lambda p: len(uses[p]))]
    return taken, uses


def is_product(i: Instruction) -> bool:
    """A mul, or a div that is one by an approximate reciprocal."""
    flags = set(i.modifiers[:-1]) - {"ftz"}
    by_reciprocal = i.opcode == "div" and len(flags) == 1 and flags <= {"approx", "full"}
    product = i.guard is None and (by_reciprocal or (i.opcode == "mul" and not flags))
    return product and i.modifiers[-1] in TYPES and isinstance(i.operands[0], Register)


def is_sum(i: Instruction) -> bool:
    """An add or sub of floats without a rounding mode."""
    flags = set(i.modifiers[:-1])
    return i.opcode in ("add", "sub") and i.modifiers[-1] in TYPES and flags <= {"ftz", "sat"}


def _form(i: Instruction) -> tuple[str, bool]:
    """What a product and a sum must share: type, and whether subnormals are zeros."""
    return i.modifiers[-1], "ftz" in i.modifiers


def _passes_on(i: Instruction, behind: Any) -> bool:
    """neg or mov of a product into a register that `behind` knows."""
    return (
        i.opcode in ("neg", "mov")
        and isinstance(i.operands[0], Register)
        and i.operands[0].name in behind
        and _product_of(i.operands[1], behind) == behind[i.operands[0].name]
    )


def assignments(code: Any) -> dict[str, int]:
    """How often each register is written."""
    return Counter(name for i in code for name in isa.written(i))


def _product_of(operand: Operand, behind: Any) -> str | None:
    """The product that an operand holds, by its register; None if it holds none."""
    return behind.get(operand.name) if isinstance(operand, Register) else None


def _stretches(entry: Function) -> list[int]:
    """By instruction, the number of the straight-line code that it is in."""
    starts = {block.start for block in flow.blocks(entry)}
    starts |= {n + 1 for n, i in enumerate(entry.instructions) if _branches(i)}
    return list(itertools.accumulate(n in starts for n in range(len(entry.instructions))))


def _loops(entry: Function) -> list[range]:
    """The instructions between the target of a backward branch and the branch."""
    return [
        range(entry.labels[i.operands[0].name], n + 1)
        for n, i in enumerate(entry.instructions)
        if i.opcode == "bra" and entry.labels.get(i.operands[0].name, n + 1) <= n
    ]


def _of_constant(i: Instruction, given: set[str]) -> bool:
    """Whether a factor is a number, or a parameter of the kernel, which lies in constant memory."""
    return i.opcode == "mul" and any(
        isinstance(x, Immediate) or (isinstance(x, Register) and x.name in given)
        for x in i.operands[1:]
    )


def _branches(i: Instruction) -> bool:
    """Whether ptxas ends straight-line code here, though the PTX does not."""
    if i.opcode in ("membar", "fence"):
        return True
    kind = i.modifiers[-1] if i.modifiers else ""
    slow = i.opcode in SLOW and {"approx", "full"}.isdisjoint(i.modifiers)
    return slow and (kind[0] == "f" or kind in ("u64", "s64"))


# -- an entry in which fused pairs are one instruction -----------------------------------------


def contract(entry: Function) -> Function:
    """The entry with every fused sum as one instruction, `contracted`, that rounds once.

    A product that all its sums took in is not computed. What stands in its place is `hold`, which
    keeps the factors if something may assign them before the sum, else nothing. Length, labels
    and lines are those of the entry, so that indices and events mean what they did."""
    code, behind = entry.instructions, _products(entry)[0]
    taken, uses = _plan(entry)
    if not taken:
        return entry
    changed, registers, factors = list(code), dict(entry.registers), {}
    times = assignments(code)
    for m in set(taken.values()):
        i = code[m]
        product, *factors[m] = i.operands
        needed = any(taken.get(n) != m for n in uses[product.name])
        changing = any(isinstance(x, Register) and times[x.name] != 1 for x in factors[m])
        if changing or i.opcode == "div":
            kept = [Register(f"{product.name}.factor{k}") for k in range(2)]
            registers |= dict.fromkeys((r.name for r in kept), registers[product.name])
            target = Vector((*kept, product) if needed else tuple(kept))
            opcode = "hold" if i.opcode == "mul" else "hold.div"
            changed[m] = replace(i, opcode=opcode, operands=(target, *factors[m]))
            factors[m] = kept
        elif not needed:
            changed[m] = replace(i, opcode="hold", operands=(Vector(()),))
    for n, m in taken.items():
        i = code[n]
        target, *terms = i.operands
        name = code[m].operands[0].name
        k = [_product_of(x, behind) for x in terms].index(name)
        negate = _negations(terms[k], code, behind) + (i.opcode == "sub" and k == 1)
        signs = ["-product"] * (negate % 2) + ["-addend"] * (i.opcode == "sub" and k == 0)
        operands = (target, *factors[m], terms[1 - k])
        words = "rn", *signs, *i.modifiers
        changed[n] = replace(i, opcode="contracted", modifiers=words, operands=operands)
    return replace(entry, instructions=tuple(changed), registers=registers)


def _negations(operand: Register, code: Any, behind: Any) -> int:
    """How many `neg` lie between a product and the operand that holds it."""
    made = {i.operands[0].name: i for i in code if _passes_on(i, behind)}
    count = 0
    while operand.name in made:
        count += made[operand.name].opcode == "neg"
        operand = made[operand.name].operands[1]
    return count


# -- what PTX leaves unsaid, written out --------------------------------------------------------

CARRY = Register("%CC.CF")
SETS = isa.CARRIED | {"add", "sub", "mad"}  # with .cc


# None: nothing was unsaid, and the entry stands for itself, which a value would keep alive.
_known: weakref.WeakKeyDictionary[Function, Function | None] = weakref.WeakKeyDictionary()


def explicit(entry: Function) -> Function:
    """The entry as it is decoded; the same one for the same entry, as long as that lives: who
    counts what its instructions do knows them by id()."""
    if entry not in _known:
        made = contract(carry(entry))
        _known[entry] = None if made is entry else made
    return _known[entry] or entry


def carry(entry: Function) -> Function:
    """`add.cc d, a, b` -> `add.cc {d, %CC.CF}, a, b`; `addc d, a, b` -> `addc d, a, b, %CC.CF`."""
    code = tuple(_with_carry(i) for i in entry.instructions)
    if all(new is old for new, old in zip(code, entry.instructions)):
        return entry
    return replace(entry, instructions=code, registers={**entry.registers, CARRY.name: "b64"})


def _with_carry(i: Instruction) -> Instruction:
    """The instruction with the carry flag among its operands, if it sets or reads it."""
    if i.opcode not in isa.CARRIED and not (i.opcode in SETS and "cc" in i.modifiers):
        return i
    target, *sources = i.operands
    if "cc" in i.modifiers:
        target = Vector((target, CARRY))
    if i.opcode in isa.CARRIED:
        sources.append(CARRY)
    return replace(i, operands=(target, *sources))
