"""The loops of a kernel, from the branches of its PTX.

A natural loop is what runs between a jump back and the block it jumps to, where every way into
the loop leads through that block. A. Aho, M. Lam, R. Sethi, J. Ullman, Compilers: Principles,
Techniques, and Tools, 2nd ed., 2006, section 9.6 (dominators, back edges, natural loops).
"""

from __future__ import annotations

from collections.abc import Iterable

LEAVE = ("ret", "exit", "trap")
JUMP = ("bra", "brx")


def loops(entry) -> list[frozenset[int]]:
    """The natural loops of a `ptx.Entry`, each as the set of its instructions' indices.

    Loops with the same first instruction are one. In the order of their first instructions.
    """
    starts = sorted(
        {
            0,
            *entry.labels.values(),
            *(n + 1 for n, i in enumerate(entry.instructions) if i.opcode in (*JUMP, *LEAVE)),
        }
    )
    ends = [*starts[1:], len(entry.instructions)]
    number = {start: n for n, start in enumerate(starts)}
    after = [
        [number[to] for to in _successors(entry, start, end) if to in number]
        for start, end in zip(starts, ends)
    ]
    before: list[list[int]] = [[] for _ in starts]
    for n in _reached([0], after):
        for to in after[n]:
            before[to].append(n)
    dominators = _dominators(before)

    bodies: dict[int, set[int]] = {}
    for head, tails in enumerate(before):
        back = [tail for tail in tails if dominators[tail] >> head & 1]
        if back:
            bodies[head] = _reached(back, before, {head})
    return [
        frozenset(n for block in body for n in range(starts[block], ends[block]))
        for _, body in sorted(bodies.items())
    ]


def own(all_loops: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Of each loop, what is in no smaller one: the instructions whose innermost loop it is."""
    all_loops = list(all_loops)
    return [body.difference(*(inner for inner in all_loops if inner < body)) for body in all_loops]


def _successors(entry, start: int, end: int) -> list[int]:
    """Where a run of instructions without a jump inside goes on: indices of instructions."""
    if start == end:  # the label after the last instruction
        return []
    last = entry.instructions[end - 1]
    targets = []
    if last.opcode == "bra":
        targets = [entry.labels[last.operands[0].name]]
    elif last.opcode == "brx":
        targets = [entry.labels[name] for name in entry.branch_targets[last.operands[1].name]]
    runs_on = last.guard is not None or last.opcode not in (*JUMP, *LEAVE)
    return targets + [end] * runs_on


def _reached(starts: Iterable[int], after: list[list[int]], seen: Iterable[int] = ()) -> set[int]:
    """What can be reached, `seen` and the starts included, without passing through `seen`."""
    seen, todo = set(seen), list(starts)
    while todo:
        n = todo.pop()
        if n not in seen:
            seen.add(n)
            todo += after[n]
    return seen


def _dominators(before: list[list[int]]) -> list[int]:
    """For each block, bits of those that every way to it from block 0 passes, itself included."""
    found = [1] + [-1] * (len(before) - 1)  # -1: all bits
    changed = True
    while changed:
        changed = False
        for n in range(1, len(before)):
            bits = -1
            for other in before[n]:
                bits &= found[other]
            if before[n] and bits | 1 << n != found[n]:
                found[n] = bits | 1 << n
                changed = True
    return found
