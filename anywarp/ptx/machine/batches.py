"""Multiply-adds that do not wait for each other, done together.

The products of an outer product, `sum[i][j] += a[i] * b[j]`, are independent. Together they need
each factor in float64 only once, and one look for results that may be rounded wrongly
(`floats.fma32_each`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..aliases import Execute, Mask, Slots, State
from ..arithmetic import floats
from ..text import isa
from ..text.syntax import Instruction, Register

ELEMENTS = 65536  # of the float64 array of their sums: it stays in the L2 cache of a core


def in_batches(code: Sequence[Instruction]) -> list[list[int]]:
    """Straight-line code as lists of indices, in an order with the same results: a multiply-add
    is put off until its result is needed or one of its registers changes, and those that have
    been put off until then are one list. Every other instruction is a list by itself."""
    done: list[list[int]] = []
    batch: list[int] = []
    read: set[str] = set()  # by the batch
    written: set[str] = set()
    for n, i in enumerate(code):
        reads, writes = isa.read(i), isa.written(i)
        if not written.isdisjoint(reads) or not (read | written).isdisjoint(writes):
            done.append(batch)
            batch, read, written = [], set(), set()
        if is_multiply_add(i):
            batch.append(n)
            read.update(reads)
            written.update(writes)
        else:
            done.append([n])
    return done + [batch] * bool(batch)


def is_multiply_add(i: Instruction) -> bool:
    """Whether it is no more than a float32 fma, rounded to nearest."""
    plain = i.modifiers == ("rn", "f32") and i.guard is None
    return plain and i.opcode in ("fma", "contracted") and isinstance(i.operands[0], Register)


def multiply_adds(batch: Sequence[Instruction], slots: Slots) -> Execute:
    """The function `(state, mask)` that runs multiply-adds of one batch."""
    factors = list(dict.fromkeys(x for i in batch for x in i.operands[1:3]))
    readers = [slots.reader(x, np.float32) for x in factors]
    rows = []
    for target, a, b, term in (i.operands for i in batch):
        ends = slots.reader(term, np.float32), slots.writer(target, np.float32)
        rows.append((factors.index(a), factors.index(b), *ends))

    def execute(state: State, mask: Mask) -> None:
        registers = state.registers
        wide = [read(registers).astype(np.float64) for read in readers]
        terms = [(wide[a], wide[b], read(registers)) for a, b, read, _ in rows]
        step = max(1, ELEMENTS // state.alive.size)
        for n in range(0, len(rows), step):
            results = floats.fma32_each(terms[n : n + step], state.shape)
            for (*_, write), result in zip(rows[n : n + step], results):
                write(registers, result, mask)

    return execute
