"""Warpgroups of a chunk that run one instruction together: what their threads hold, and the tiles
of shared memory that their descriptors find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..aliases import Array, Mask, Reader, State
from ..errors import MemoryFault, PTXError
from ..memory.events import Fault, Finished, Started, Stretches
from ..memory.swizzle import UNIT
from ..text.syntax import Instruction
from .descriptor import Descriptor, decoded, merged, stretches, units

THREADS = 128  # of a warpgroup
NOBODY = (1 << 64) - 1  # what is read where nobody has written


def complete(i: Instruction) -> Callable[..., Any]:
    """A function (state, here) -> bool (B, T): the threads whose warpgroup is here as a whole."""

    def find(state: State, here: Any) -> Any:
        blocks, threads = state.shape
        whole = threads // THREADS * THREADS
        partial = f"a warpgroup is {THREADS} threads, of which the last one of this block of "
        partial += f"{threads} has {threads - whole}"
        state.require(~here[:, whole:].any(keepdims=True), here, i, partial)
        groups = here[:, :whole].reshape(blocks, -1, THREADS)
        gone = np.zeros(state.shape, np.int64)
        alive = state.alive[:, :whole].reshape(groups.shape)
        gone[:, :whole] = (~alive).sum(-1).repeat(THREADS, 1)
        exited = lambda at: (
            f"{gone[at]} threads of the warpgroup have exited, and all {THREADS} must come here"
        )
        state.require(gone == 0, here, i, exited)
        whole_groups = np.zeros(state.shape, bool)
        whole_groups[:, :whole] = groups.all(-1).repeat(THREADS, 1)
        return whole_groups

    return find


class SharedTile(NamedTuple):
    """A tile of A or B of each warpgroup: the descriptors that there are, which of them each
    warpgroup has, and how many rows and so on a tile has, as `units` takes them."""

    name: str
    descriptors: list[Descriptor]
    which: Array  # (G,)
    shape: tuple[int, int, int, str]
    outside: list[Any]  # for each descriptor the units that lie in no variable, None if none does


class Team:
    """The G warpgroups that run an instruction together."""

    def __init__(self, state: State, mask: Mask, i: Instruction) -> None:
        self.state, self.mask, self.i = state, mask, i
        blocks, threads = state.shape
        self.per_block = threads // THREADS
        self.whole = self.per_block * THREADS
        if mask is None:
            taking_part = np.ones((blocks, self.per_block), bool)
        else:
            taking_part = state.full(mask)[:, : self.whole : THREADS]
        self.every = bool(taking_part.all())
        self.blocks, self.groups = np.nonzero(taking_part)

    def pick(self, value: Array) -> Array:
        """What broadcasts to (B, T) -> (G, 128)."""
        blocks = self.state.shape[0]
        if value.shape != self.state.shape:
            value = np.broadcast_to(value, self.state.shape)
        grouped = value[:, : self.whole].reshape(blocks, self.per_block, THREADS)
        return grouped.reshape(-1, THREADS) if self.every else grouped[self.blocks, self.groups]

    def spread(self, value: Array) -> Array:
        """The inverse, with anything for the others."""
        blocks, threads = self.state.shape
        if self.every and threads == self.whole:
            return value.reshape(blocks, threads)
        result = np.zeros((blocks, threads), value.dtype)
        view = result[:, : self.whole].reshape(blocks, self.per_block, THREADS)
        view[self.blocks, self.groups] = value
        result[:, : self.whole] = view.reshape(blocks, self.whole)
        return result

    def all(self, readers: Any) -> Array:
        return np.stack([self.pick(read(self.state.registers)) for read in readers])

    def thread(self, group: int, lane: int = 0) -> str:
        first = int(self.groups[group]) * THREADS
        return self.state.describe_thread(int(self.blocks[group]), first + lane)

    def same(self, name: str, read: Any) -> Array:
        """(G,): the value that all threads of a warpgroup have."""
        value = read(self.state.registers)
        if value.size == 1:
            return np.full(len(self.blocks), value.flat[0])
        each = self.pick(value)
        if (each != each[:, :1]).any():
            group, lane = np.argwhere(each != each[:, :1])[0].tolist()
            first, other = (int(each[group, n]) for n in (0, lane))
            text = f"{name} must be the same in all threads of a warpgroup; its first thread has "
            text += f"{first:#x}, this one {other:#x}"
            raise PTXError(text, instruction=self.i, thread=self.thread(group, lane))
        return each[:, 0]

    def tile(self, name: str, read: Reader, shape: tuple[int, int, int, str]) -> SharedTile:
        bits, which = np.unique(self.same(f"the descriptor of {name}", read), return_inverse=True)
        which = which.reshape(-1)
        space, descriptors = self.state.spaces["shared"], [decoded(each) for each in bits.tolist()]
        outside = [space.check(units(each, *shape), None, UNIT, UNIT) for each in descriptors]
        tile = SharedTile(name, descriptors, which, shape, outside)
        for n, wrong in enumerate(outside):
            if wrong is not None:
                self.fault(tile, n)
        return tile

    def load(self, tile: SharedTile) -> Array:
        """The elements of a tile, unsigned (G, rows, k)."""
        _, _, element, major = tile.shape
        space = self.state.spaces["shared"]
        each = np.stack([units(descriptor, *tile.shape) for descriptor in tile.descriptors])
        first = space.row[self.blocks, 0]
        index = (each[tile.which] + first[:, None, None]) >> 4
        loaded = space.views[8].reshape(-1, 2).take(index, axis=0, mode="clip")
        for n, wrong in enumerate(tile.outside):
            if wrong is not None:
                loaded[(tile.which == n)[:, None, None] & wrong] = np.uint64(NOBODY)
        loaded = loaded.view(f"u{element}").reshape(len(loaded), len(each[0]), -1)
        return loaded if major == "K" else loaded.swapaxes(1, 2)

    def fault(self, tile: SharedTile, n: int) -> None:
        """Units that lie in no variable: raise, or tell the sink, of a tolerant run."""
        state, space = self.state, self.state.spaces["shared"]
        bad = int(units(tile.descriptors[n], *tile.shape)[tile.outside[n]].min())
        hit = np.flatnonzero(tile.which == n)
        if not state.tolerant:
            text = f"wgmma reads {tile.name} out of bounds of shared memory: "
            text += f"{space.describe(bad)}; its descriptor has {tile.descriptors[n]}"
            raise MemoryFault(text, instruction=self.i, thread=self.thread(hit[0]))
        mask = np.zeros(state.shape, bool)
        mask[self.blocks[hit], self.groups[hit] * THREADS] = True
        where = np.full((1, 1), bad)
        state.tell(Fault, self.i, "load", "shared", UNIT, UNIT, where, mask)

    def announce(self, tiles: list[SharedTile], adds: Array) -> None:
        """Tell the sink of the products, and, once their group is waited for, that they are
        done."""
        state, count = self.state, len(self.blocks)
        tickets = state.tickets(count)
        operations, starts, sizes = [], [], []
        for tile in tiles:
            for n, (descriptor, wrong) in enumerate(zip(tile.descriptors, tile.outside)):
                start, size = stretches(descriptor, *tile.shape)
                if wrong is not None:
                    start, size = merged(units(descriptor, *tile.shape)[~wrong])
                mine = np.flatnonzero(tile.which == n)
                operations.append(mine.repeat(len(start)))
                starts.append(np.tile(start, len(mine)))
                sizes.append(np.tile(size, len(mine)))
        operation = np.concatenate(operations)
        rows = self.blocks[operation]
        parts = np.concatenate(starts), np.concatenate(sizes)
        reads = Stretches("shared", operation, rows, *parts)
        first = self.groups * THREADS
        state.tell(Started, self.i, tickets, self.blocks, first, (reads,), (), (tiles, adds))

        def finish(done: Array) -> None:
            mine = self.pick(done).any(1)
            state.tell(Finished, self.i, tickets[mine], False, None, None, done)

        state.products.add(finish, state.full(self.mask))
