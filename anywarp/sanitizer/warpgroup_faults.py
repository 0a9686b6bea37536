"""Registers of wgmma: who touches them while a product is under way, and the fences before it.

From wgmma.mma_async to the wgmma.wait_group of its group, its registers, those of the product and
those of A, belong to it: others may neither write them nor, those of the product, read them. A
wgmma of the same shape may add to the same product. A wgmma.fence comes before the first wgmma of
a thread, and before those with registers that others have written since the last one (PTX ISA,
asynchronous warpgroup level matrix instructions).

Compilers move values from register to register, and arithmetic past a fence or a wait, as they
like; ptxas puts that right. So a copy is no use of a register, what it copies stays what it was,
and a fence counts wherever it is between two wgmmas. What arithmetic makes of a product is not to
be used before the wait either; but to make it is no use, nor is it to keep registers in local
memory, or to take them from there, as compilers do.
"""

from __future__ import annotations

import collections
import functools
from dataclasses import dataclass, field

import numpy as np

from ..analysis.warps import Mask, whole_mask
from ..ptx.memory.events import Executed, Guarded
from ..ptx.text import flow, isa
from ..ptx.text.syntax import Entry, Instruction
from .findings import place
from .reports import Reports
from .static_facts import instructions_of


@dataclass(eq=False)
class Product:
    """A wgmma under way, in the threads of the mask (B, T). younger: groups that each of them has
    committed since its own, -1 before it is committed itself."""

    instruction: Instruction
    sums: set[str]
    factors: set[str]
    mask: np.ndarray
    younger: np.ndarray
    made: set[str] = field(default_factory=set)  # the registers with what arithmetic made of sums


@functools.lru_cache(maxsize=64)
def uses(entry: Entry) -> dict[int, tuple[set[str], set[str]]]:
    """id of an instruction -> what it reads and writes of the registers that wgmma has, their
    copies, and what is made of them; wgmma itself is in there, and no instruction without."""
    code = instructions_of(entry)
    operands = (x for i in code if i.modifiers[:1] == ("mma_async",) for x in i.operands[:2])
    names = {name for x in operands for name in isa.registers_in(x)}
    copies: dict[str, list[str]] = collections.defaultdict(list)
    for i in code:
        for name in isa.read(i) if makes(i) else ():
            copies[name] += isa.written(i)
        for name in isa.written(i) if i.opcode == "mov" else ():
            copies[name] += isa.read(i)
    names = flow.reached(names, copies)
    used = {id(i): (set(isa.read(i)) & names, set(isa.written(i)) & names) for i in code}
    return {id(i): used[id(i)] for i in code if i.opcode == "wgmma" or any(used[id(i)])}


def makes(i: Instruction) -> bool:
    """Whether all that an instruction does is to make a value of others, or to keep one."""
    return i.opcode == "mov" or isa.lookup(i).kind == "arithmetic" or isa.space(i) == "local"


class Registers:
    """Follows the registers of wgmma through the instructions that a chunk executes. `ear`: the
    Checker."""

    def __init__(self, ear: Reports) -> None:
        self.ear, self.shape, self.uses = ear, ear.shape, uses(ear.launch.entry)
        # id of a straight run -> the instructions to follow
        self.runs: dict[int, list[Instruction]] = {}
        self.products: list[Product] = []
        # register -> (threads, what wrote it), since a wgmma
        self.written: dict[str, tuple[Mask, Instruction]] = {}
        self.fenced = np.zeros(ear.shape, bool)  # threads that have passed a wgmma.fence
        self.fresh = np.zeros(ear.shape, bool)  # and have since the last wgmma

    def executed(self, event: Executed) -> None:
        """A straight run of instructions."""
        run = self.runs.get(id(event.instructions))
        if run is None:
            run = [i for i in event.instructions if id(i) in self.uses and i.guard is None]
            self.runs[id(event.instructions)] = run
        for i in run:
            self.run(i, whole_mask(event.mask, self.shape))

    def guarded(self, event: Guarded) -> None:
        """An instruction under a predicate."""
        if id(event.instruction) in self.uses:
            self.run(event.instruction, whole_mask(event.mask, self.shape))

    def run(self, i: Instruction, mask: Mask) -> None:
        """The threads of the mask (B, T) execute an instruction."""
        if i.opcode == "wgmma":
            getattr(self, i.modifiers[0])(i, mask)
        elif i.opcode == "mov":
            self.copied(i, mask)
        else:
            self.touched(i, mask)

    # -- wgmma ------------------------------------------------------------------------------

    def fence(self, i: Instruction, mask: Mask) -> None:
        """wgmma.fence."""
        self.fenced |= mask
        self.fresh |= mask

    def mma_async(self, i: Instruction, mask: Mask) -> None:
        """A product begins."""
        sums, factors = (set(isa.registers_in(operand)) for operand in i.operands[:2])
        if len(factors) == 1:  # a descriptor
            factors = set()
        missing = mask & ~self.fenced
        if missing.any():
            self.report(missing, i, None, "runs wgmma without a wgmma.fence before it")
        for name in sorted((sums | factors) & self.written.keys()):
            threads, writer = self.written[name]
            if (late := threads & mask & ~self.fresh & ~missing).any():
                sentence = f"runs wgmma with {name}, which it has written at {{there}}, with no "
                self.report(late, i, writer, sentence + "wgmma.fence since the wgmma before")
        self.fresh &= ~mask
        self.written = {
            name: (left, writer)
            for name, (threads, writer) in self.written.items()
            if (left := threads & ~mask).any()
        }
        for product in self.products:
            busy = product.mask & mask
            same = product.instruction.modifiers[3] == i.modifiers[3]
            clash = product.sums & (factors if same else sums | factors)
            clash |= product.factors & sums | product.made & (sums | factors)
            if clash and busy.any():
                self.touch(product, min(clash), busy, i, "uses")
        younger = np.full(self.shape, -1)
        self.products.append(Product(i, sums, factors, mask.copy(), younger))

    def commit_group(self, i: Instruction, mask: Mask) -> None:
        """The products that are not yet in a group make one."""
        for product in self.products:
            product.younger += mask & product.mask

    def wait_group(self, i: Instruction, mask: Mask) -> None:
        """All groups but the latest ones are done."""
        pending = int(i.operands[0].value)
        for product in self.products:
            product.mask &= ~(mask & (product.younger >= pending))
        self.products = [product for product in self.products if product.mask.any()]

    # -- others -----------------------------------------------------------------------------

    def copied(self, i: Instruction, mask: Mask) -> None:
        """A copy of a register that belongs to a product belongs to it too."""
        sources, targets = self.uses[id(i)]
        for product in self.products:
            for owned in (product.sums, product.made):
                if owned & sources and (product.mask & mask).any():
                    owned |= targets
            if not product.made & sources:
                product.made -= targets
        for name in targets:
            self.written.pop(name, None)
            for source in sources & self.written.keys():
                self.written[name] = self.written[source]

    def touched(self, i: Instruction, mask: Mask) -> None:
        """An instruction other than a copy reads and writes registers."""
        read, written = self.uses[id(i)]
        for product in self.products:
            changed = (product.sums | product.factors) & written
            here = changed or (product.sums | product.made) & read
            if not here:
                product.made -= written
            elif (busy := product.mask & mask).any():
                if changed or not makes(i):
                    self.touch(product, min(here), busy, i, "writes" if changed else "reads")
                product.made |= written
        for name in written if isa.space(i) != "local" else ():
            before = self.written.get(name)
            self.written[name] = (mask if before is None else before[0] | mask), i

    def touch(self, product: Product, name: str, busy: Mask, i: Instruction, verb: str) -> None:
        """Threads touch a register of a product that is under way."""
        text = (
            f"{verb} {name}, a register of the wgmma at {{there}}, before it has waited for that "
        )
        self.report(busy, i, product.instruction, text + "with wgmma.wait_group")

    def report(self, mask: Mask, i: Instruction, other: Instruction | None, sentence: str) -> None:
        """A finding about the threads of the mask; `sentence` follows the name of the first."""
        b, t = np.argwhere(mask)[0]
        thread = self.ear.thread(b, t)
        text = f"{thread} {sentence.format(there=other and place(other))}"
        sites = i, thread, None, other
        self.ear.findings.report("tensor core registers", text, *sites, count=mask.sum())
