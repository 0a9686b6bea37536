"""The loops of a kernel, from the branches of its PTX.

A natural loop is what runs between a jump back and the block it jumps to, where every way into
the loop leads through that block. A. Aho, M. Lam, R. Sethi, J. Ullman, Compilers: Principles,
Techniques, and Tools, 2nd ed., 2006, section 9.6 (dominators, back edges, natural loops).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ptx.text import flow
from ..ptx.text.syntax import Entry


def loops(entry: Entry) -> list[frozenset[int]]:
    """The natural loops of an entry, each as the set of its instructions' indices.

    Loops with the same first instruction are one. In the order of their first instructions.
    """
    blocks = flow.blocks(entry)
    after = flow.successors(entry, blocks)
    before = flow.predecessors(after)
    tails: dict[int, list[int]] = {}
    for tail, head in flow.back_edges(after):
        tails.setdefault(head, []).append(tail)
    bodies = {head: flow.reached(back, before, {head}) for head, back in tails.items()}
    return [
        frozenset(n for block in body for n in blocks[block]) for _, body in sorted(bodies.items())
    ]


def own(all_loops: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Of each loop, what is in no smaller one: the instructions whose innermost loop it is."""
    all_loops = list(all_loops)
    return [body.difference(*(inner for inner in all_loops if inner < body)) for body in all_loops]
