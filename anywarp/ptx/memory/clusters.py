"""Clusters of thread blocks: how a grid is divided into them, whose shared memory an address
means, and the barrier that all threads of a cluster share.

The blocks of a cluster are neighbours in a chunk, in the order of their ranks: block b of the
chunk has rank b % n in cluster b // n, if a cluster has n blocks.
PTX ISA, chapters 2.2.2 (clusters), 9.7.13.4 (barrier.cluster) and 11.4 (cluster directives).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array, Execute, Extent, Mask, Site, State
from ..errors import MemoryFault
from ..text.forms import refuse
from ..text.syntax import Entry, Instruction
from .allocations import NAMED, RANK_SHIFT, Space
from .events import ClusterBarrier

OFFSET = (1 << RANK_SHIFT) - 1  # the bits of an address of shared memory that name no block
MAX_BLOCKS = 8  # of a cluster, unless the program asks its GPU for more than is portable


class Cluster(NamedTuple):
    """Blocks along each axis, and whether the kernel gave them."""

    x: int = 1
    y: int = 1
    z: int = 1
    explicit: bool = False

    @property
    def size(self) -> int:
        return self.x * self.y * self.z


# -- a grid of clusters -----------------------------------------------------------------------


def cluster_of(entry: Entry, grid: Extent) -> Cluster:
    """The clusters of a launch; without, each is one block. Raises ValueError for what a GPU
    refuses to launch."""
    given = entry.attributes.get("reqnctapercluster")
    if given is None:
        if "explicitcluster" in entry.attributes:
            what = f"{entry.name} is launched with a cluster size only: give it one, as "
            raise ValueError(f"{what}__cluster_dims__(2, 1, 1)")
        return Cluster()
    x, y, z = (*given, 1, 1)[:3]
    cluster = Cluster(x, y, z, True)
    if "blocksareclusters" in entry.attributes:
        raise ValueError(f"{entry.name} counts its grid in clusters, which is not supported")
    if cluster.size > MAX_BLOCKS:
        raise ValueError(
            f"a cluster of {cluster.size} blocks is more than the {MAX_BLOCKS} that "
            f"{entry.name} may be launched with"
        )
    for axis, blocks, each in zip("xyz", grid, cluster):
        if blocks % each:
            raise ValueError(
                f"grid.{axis} is {blocks}, and the clusters of {entry.name} have {each} blocks "
                "along it: it must be a multiple of that"
            )
    return cluster


def whole(blocks: int, cluster: Cluster) -> int:
    """So many blocks or fewer, a cluster at least: the size of a chunk."""
    return max(1, blocks // cluster.size) * cluster.size


def block_numbers(first: int, end: int, grid: Extent, cluster: Cluster) -> Array:
    """The linear numbers of blocks, counted cluster after cluster and by rank within each."""
    counted = np.arange(first, end)
    number, rank = np.divmod(counted, cluster.size)
    step, blocks = 1, np.zeros_like(counted)
    for size, each in zip(grid, cluster):
        number, along = np.divmod(number, size // each)
        rank, within = np.divmod(rank, each)
        blocks += (along * each + within) * step
        step *= size
    return blocks


# -- whose shared memory ----------------------------------------------------------------------


def rows(state: State) -> Array:
    """The blocks of the chunk, (B, 1)."""
    return np.arange(state.shape[0], dtype=np.int64)[:, None]


def name(state: State, row: Array) -> Any:
    """What an address of shared memory has to name these blocks of the chunk."""
    return np.int64(NAMED) | row % state.launch.cluster.size << RANK_SHIFT


def unnamed(state: State, address: Array, row: Array) -> Any:
    """Addresses of shared memory, without the name of the own block (`row`) where they have it."""
    if state.launch.cluster.size == 1 or not (address >> RANK_SHIFT).any():
        return address
    return np.where(address & ~OFFSET == name(state, row), address & OFFSET, address)


def split(state: State, address: Array, row: Array) -> Any:
    """(the block of the chunk that addresses of shared memory are in, the offset there), for
    threads of the blocks `row`. An address that names no rank is of one's own; one that names a
    rank which the cluster lacks, too, and stays as it is: far out of bounds."""
    size = state.launch.cluster.size
    rank = address - NAMED >> RANK_SHIFT
    named = (rank >= 0) & (rank < size) & (size > 1)
    offset = np.where(named, address & OFFSET, address)
    return np.where(named, row - row % size + rank, row), offset


def reached(state: State, address: Array, mask: Mask) -> Any:
    """(shared memory, address in it) of addresses that may name another block of the cluster."""
    shared = state.spaces["shared"]
    if state.launch.cluster.size == 1 or not (address >> RANK_SHIFT).any():
        return shared, address
    owner, offset = split(state, address, rows(state))
    elsewhere = owner != rows(state)
    if not (elsewhere if mask is None else elsewhere & mask).any():
        return shared, offset
    owner = np.broadcast_to(owner, state.shape)
    there = replace(shared, row=shared.row[owner, 0], owner=owner)
    return there, np.broadcast_to(offset, state.shape)


def present(state: State) -> Array:
    """The blocks (B,) with a thread that has not exited, and has more to do than that."""
    there = state.alive
    for place in state.leaving:
        if (about := state.ready.get(place)) is not None:
            there = there & ~about
    return there.any(1)


def exited(state: State, space: Space, mask: Mask) -> Any:
    """The threads of the mask that reach a block which has exited; None if there are none."""
    if space.owner is None:
        return None
    gone = ~present(state)[space.owner] & state.full(mask)
    return gone if gone.any() else None


def left(i: Instruction, state: State, owner: int, thread: str) -> MemoryFault:
    """What to say when a thread reaches the block `owner` of the chunk, which has exited."""
    text = f"access to the shared memory of {state.describe_block(owner)}, which has exited: a "
    text += "barrier of the cluster before the end of the kernel keeps it there"
    return MemoryFault(text, instruction=i, thread=thread)


def whose(state: State, space: Space, wrong: Array) -> str:
    """In words, of whose memory the first wrong access is; nothing for one's own."""
    if space.owner is None:
        return ""
    b, t = np.argwhere(state.full(wrong))[0].tolist()
    return f", in the shared memory of {state.describe_block(space.owner[b, t])}"


# -- the barrier ------------------------------------------------------------------------------


class Meeting:
    """The barrier of each cluster of a chunk."""

    def __init__(self, shape: tuple[int, int], blocks: int) -> None:
        self.blocks = blocks  # of a cluster
        self.arrived = np.zeros(shape, bool)  # in the phase that is not over
        self.owing = np.zeros(shape, bool)  # have arrived, and not waited since
        self.phase = np.zeros(shape[0], np.int64)  # phases that are over, for each block
        self.waiting: dict[int, tuple[Any, ...]] = {}  # place -> (mask, instruction)

    def over(self, alive: Array) -> Array:
        """The blocks (B,) of clusters whose threads have all arrived or exited."""
        there = (self.arrived | ~alive).reshape(-1, self.blocks * alive.shape[1]).all(1)
        return there.repeat(self.blocks) & self.arrived.any(1)


def barrier(i: Instruction, at: Site) -> Execute:
    """barrier.cluster.arrive and barrier.cluster.wait: the threads of a cluster wait for each
    other. A phase is over when all of them that have not exited have arrived."""
    words, following = set(i.modifiers) - {"cluster", "aligned"}, at.following
    arrives = "arrive" in words
    refuse(not arrives and "wait" not in words, i)
    refuse(words - ({"arrive", "release", "relaxed"} if arrives else {"wait", "acquire"}), i)

    turns = "barrier.cluster.arrive and barrier.cluster.wait take turns"
    again = f"the thread has arrived already and has not waited since: {turns}"
    early = f"the thread has not arrived: {turns}"

    def arrive(state: State, mask: Mask) -> None:
        here, met = state.full(mask), state.meeting
        state.require(~met.owing, mask, i, again)
        met.arrived |= here
        met.owing |= here
        state.changed = True
        announce(i, state, "arrive", mask)
        state.go(following, mask)
        release(state)

    def wait(state: State, mask: Mask) -> None:
        here, met = state.full(mask), state.meeting
        state.require(met.owing, mask, i, early)
        late = here & met.arrived  # for a phase that is not over
        going = here & ~late
        if going.any():
            go_on(i, state, going, following + state.base)
        if late.any():
            place = following + state.base
            others = met.waiting.get(place, (False, i))[0]
            met.waiting[place] = (late | others, i)

    return arrive if arrives else wait


def release(state: State) -> None:
    """Begin a new phase in the clusters where everybody has arrived, and let those go on who
    wait."""
    met = state.meeting
    over = met.over(state.alive)
    if not over.any():
        return
    state.changed = True
    met.arrived[over] = False
    met.phase[over] += 1
    for place, (mask, i) in list(met.waiting.items()):
        going = mask & over[:, None]
        if going.any():
            del met.waiting[place]
            if not (mask <= going).all():
                met.waiting[place] = (mask & ~going, i)
            go_on(i, state, going, place)


def unfinished(state: State) -> Iterator[Any]:
    """(the threads that wait, instruction, what is wrong if they do so for ever)"""
    size = state.launch.cluster.size
    for waiting, i in state.meeting.waiting.values():
        first = int(np.argwhere(waiting)[0][0]) // size * size
        cluster = slice(first, first + size)
        why = f"the barrier of the cluster is never completed: {int(waiting[cluster].sum())} of "
        why += f"its threads wait, {int(state.alive[cluster].sum())} have not exited"
        yield waiting, i, why


def go_on(i: Instruction, state: State, going: Array, place: int) -> None:
    """Let threads continue behind their wait."""
    state.meeting.owing &= ~going
    announce(i, state, "wait", None if going.all() else going)
    state.resume(place, going)


def announce(i: Instruction, state: State, what: str, mask: Mask) -> None:
    """Tell the sink of an arrival or of the end of a wait."""
    state.tell(ClusterBarrier, i, what, state.meeting.phase - (what == "wait"), mask)
