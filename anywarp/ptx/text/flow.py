"""Where control goes: basic blocks, what follows and precedes them, jumps back, turns.

Blocks are ranges of instruction indices and are known by their number, in order of the code.
A. Aho, M. Lam, R. Sethi, J. Ullman, Compilers: Principles, Techniques, and Tools, 2nd ed., 2006,
sections 8.4 (basic blocks) and 9.6 (dominators, back edges).
"""

from __future__ import annotations

import collections
import graphlib
import heapq
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from . import isa
from .syntax import Function, Instruction

Graph = Sequence[Sequence[int]]  # for each block, numbers of others


def targets(entry: Function, i: Instruction) -> list[int]:
    """Where a jump goes to, as indices of instructions; the end of the code is one more. Labels
    that are not there are left out: the decoder says so, with the line."""
    if isa.lookup(i).ends != "jump":
        return []
    name = i.operands[-1].name
    names = entry.branch_targets.get(name, ()) if i.opcode == "brx" else (name,)
    return [entry.labels[each] for each in names if each in entry.labels]


def runs_on(i: Instruction) -> bool:
    """Whether the instruction after it may come next."""
    return i.guard is not None or isa.lookup(i).ends not in ("jump", "leave")


def blocks(entry: Function, waits: bool = False) -> list[range]:
    """Straight-line code: it begins where somebody jumps to and after a jump, a call or an exit.

    waits: instructions that wait for other threads make a block of their own, products one after
    the other a block together. Labels that nobody jumps to begin none. An empty entry has no block.
    """
    code, starts = entry.instructions, {0}
    for n, i in enumerate(code):
        ends = isa.lookup(i).ends
        if ends == "wait" and waits:
            starts.update(at for at in (n, n + 1) if not still_together(code[at - 1 : at + 1]))
        elif ends and ends != "wait":
            starts.add(n + 1)
            starts.update(targets(entry, i))
    total = len(code)
    bounds = [*sorted(n for n in starts if n < total), total]
    return [range(start, stop) for start, stop in itertools.pairwise(bounds)]


def still_together(pair: Sequence[Instruction]) -> bool:
    """Whether the second of two instructions is an mma as the first: the lanes of a warp, which
    have waited for each other there, need not do so again."""
    forms = {(i.opcode, i.modifiers, i.guard) for i in pair}
    return len(pair) == 2 and len(forms) == 1 and pair[0].opcode == "mma" and not pair[0].guard


def successors(entry: Function, blocks: Sequence[range]) -> list[list[int]]:
    """For each block the numbers of those that may come next, each once: where it jumps to, then
    what follows it. The end of the code is no block. A call comes back."""
    number = {block.start: n for n, block in enumerate(blocks)}
    after = []
    for block in blocks:
        last = entry.instructions[block.stop - 1]
        ways = targets(entry, last) + [block.stop] * runs_on(last)
        after.append(list(dict.fromkeys(number[to] for to in ways if to in number)))
    return after


def predecessors(after: Graph) -> list[list[int]]:
    """For each block those that it may come after; only blocks that block 0 reaches count."""
    live = sorted(reached([0], after)) if after else ()
    before = inverted({n: after[n] for n in live})
    return [before[n] for n in range(len(after))]


def inverted(ways: Mapping[Any, Iterable[Any]]) -> Any:
    """For each, from where one comes to it, in the order of `ways`; an empty list for all else."""
    back: dict[Any, list[Any]] = collections.defaultdict(list)
    for n, following in ways.items():
        for to in following:
            back[to].append(n)
    return back


def reached(starts: Iterable[Any], after: Any, seen: Iterable[Any] = ()) -> set[Any]:
    """What can be reached, `seen` and the starts included, without passing through `seen`."""
    seen, todo = set(seen), list(starts)
    while todo:
        n = todo.pop()
        if n not in seen:
            seen.add(n)
            todo += after[n]
    return seen


def _postorder(starts: Iterable[int], after: Any) -> list[int]:
    """The blocks that the starts reach, each after those that are reached from it, loops aside."""
    order: list[int] = []
    seen: set[int] = set()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(after[start]))]
        while path:
            n, ways = path[-1]
            following = next((to for to in ways if to not in seen), None)
            if following is None:
                order.append(n)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(after[following])))
    return order


def back_edges(after: Graph) -> list[tuple[int, int]]:
    """The jumps back (from, to), where every way to the first from block 0 passes the second (it
    dominates the first): loops. Blocks that nothing reaches have none."""
    edges, place = [], {n: at for at, n in enumerate(_postorder([0], after))} if after else {}
    for head, tails in enumerate(predecessors(after)):
        later = [tail for tail in tails if place[tail] <= place[head]]  # no others can jump back
        elsewhere = reached([0], after, [head]) - {head} if later else ()
        edges += [(tail, head) for tail in later if tail not in elsewhere]
    return sorted(edges)


def turns(after: Graph) -> list[int]:
    """The blocks in the order in which threads that went different ways should run them: each
    after all that lead to it, and after a whole loop what it is left for. Then all paths that
    join have come where they join before anyone goes on from there. Where that leaves a choice,
    the order of the code stays.

    A loop's first block is one that is entered from outside; without it, what remains of the
    loop is put in order in the same way."""
    before = inverted(dict(enumerate(after)))
    order: list[int] = []
    todo = _in_turn(range(len(after)), after)[::-1]
    while todo:
        loop = todo.pop()
        head = min((n for n in loop if not loop.issuperset(before[n])), default=min(loop))
        order.append(head)
        if len(loop) > 1:
            todo += _in_turn(loop - {head}, after)[::-1]
    return order


def _in_turn(nodes: Collection[int], after: Graph) -> list[set[int]]:
    """Sets of blocks that reach each other, within the nodes: each set after those that lead to
    it. Kosaraju's two searches, then A. Kahn's order, the first of the code where several could
    come next."""
    ways = {n: [to for to in after[n] if to in nodes] for n in nodes}
    back = inverted(ways)
    number: dict[int, int] = {}
    groups: list[set[int]] = []
    for start in reversed(_postorder(nodes, ways)):
        if start not in number:
            groups.append(set())
            todo = [start]
            while todo:
                n = todo.pop()
                if n not in number:
                    number[n] = len(groups) - 1
                    groups[-1].add(n)
                    todo += back[n]
    sorter = graphlib.TopologicalSorter(dict.fromkeys(range(len(groups)), ()))
    for n, following in ways.items():
        for to in following:
            if number[n] != number[to]:
                sorter.add(number[to], number[n])
    sorter.prepare()
    ready: list[tuple[int, int]] = []
    order = []
    while sorter.is_active():
        for k in sorter.get_ready():
            heapq.heappush(ready, (min(groups[k]), k))
        _, k = heapq.heappop(ready)
        order.append(groups[k])
        sorter.done(k)
    return order
