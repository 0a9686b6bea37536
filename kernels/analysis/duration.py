"""How long a product takes whose steps along K are shared out: a formula of a few costs.

Blocks come to the SMs in rounds, as many at a time as fit. A block begins, and takes its steps;
each takes as long as the latency of a step if the block has its SM to itself, or its share of the
SM's arithmetic if many are there. The memory is read and written beside that. Then parts of tiles
are summed, by the blocks of a cluster or by another launch. A step may pack A and B, or one of
them, in a launch of its own before. `measure.fitting` finds the costs; all numbers may be arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SHARP = 4  # how suddenly the larger of two times prevails: the exponent of a norm


class Tile(NamedTuple):
    """A block's tile, how many of its blocks an SM holds, and costs in microseconds."""

    BM: Any
    BN: Any
    BK: Any
    resident: Any
    start: Any  # what a round costs beside its steps
    latency: Any  # of a step, at least
    step: Any  # of the SM's time, for each block
    ragged: Any  # times the cost of a step where rows do not start on 16 bytes or tiles are never
    # whole; where both factors are packed, of a round, for its part in C
    cluster: Any  # for sums within a cluster
    pack: Any = 0.0  # for a million numbers that are packed before
    piece: Any = 0.0  # for each piece of a stream; 0: what `Costs` says
    gbs: Any = 0.0  # of the memory, with its copies; 0: what `Costs` says


class Costs(NamedTuple):
    """Of a GPU, in microseconds where nothing else is said."""

    multiprocessors: Any
    launch: Any
    gbs: Any  # of the memory, 10^9 bytes a second
    reduce: Any  # for the launch that sums, or packs
    part: Any  # for each part of a tile that it sums
    rank: Any  # how much of a tile's cost `cluster` each block of a cluster adds
    piece: Any  # how much of its tile's `start` each piece of a stream costs
    packing: Any  # the share of the SMs on which clusters find room in a round


class Work(NamedTuple):
    """A product and how its steps are shared out."""

    M: Any
    N: Any
    K: Any
    splits: Any = 1
    cluster: Any = 0  # 1: the splits of a tile are a cluster
    stream: Any = 0  # blocks of a stream
    aligned: Any = 1  # 1: rows start on 16 bytes
    packed: Any = 0  # numbers of A and B that are packed before


def microseconds(tile: Tile, costs: Costs, work: Work) -> Any:
    """What the formula says."""
    tiles = -(-work.M // tile.BM) * -(-work.N // tile.BN)
    steps = -(-work.K // tile.BK)
    steps = steps + (steps == 0)
    streams = 1 * (work.stream > 0)
    stream = np.minimum(work.stream, tiles * steps)  # the others have nothing to do
    stream = stream + (1 - streams)  # not 0, since it divides
    blocks = streams * stream + (1 - streams) * tiles * work.splits
    each = streams * tiles * steps / stream + (1 - streams) * -(-steps // work.splits)
    whole = work.aligned * (work.M >= tile.BM) * (work.N >= tile.BN)
    ragged = 1 + (1 - whole) * (tile.ragged - 1)
    packs = 1 * (work.packed > 0)
    both = 1 * (work.packed >= work.M * work.K + work.K * work.N) * packs
    ragged = both + (1 - both) * ragged  # what is packed has whole rows,
    step = tile.step * ragged
    of_c = work.M * work.N / (tiles * tile.BM * tile.BN)  # but C has not: how much of tiles it is
    start = tile.start * (1 + both * (1 - work.aligned) * (tile.ragged - 1) * of_c)

    def round_of(blocks_of_an_sm: Any) -> Any:
        return start + each * larger(tile.latency, blocks_of_an_sm * step, SHARP)

    places = costs.multiprocessors * (1 - work.cluster * (1 - costs.packing))
    full = blocks // (costs.multiprocessors * tile.resident)
    rest = blocks - full * costs.multiprocessors * tile.resident
    time = full * round_of(tile.resident) + (rest > 0) * round_of(-(-rest // places))
    piece = tile.piece + (tile.piece == 0) * costs.piece * tile.start
    time = time + streams * piece * tiles / stream
    pieces = streams * (tiles + stream) * tile.BM * tile.BN  # numbers, stored and loaded again
    bytes_moved = 4 * (work.M * work.K + work.K * work.N + work.M * work.N)
    gbs = tile.gbs + (tile.gbs == 0) * costs.gbs
    time = larger(time, bytes_moved / gbs / 1000, SHARP)
    launched = 1 * (streams + work.splits > 1) * (1 - work.cluster)
    parts = (1 - streams) * work.splits + streams * 2 * stream / tiles
    time = time + launched * (costs.reduce + costs.part * parts)
    time = time + 8 * pieces / costs.gbs / 1000
    time = time + packs * (costs.reduce + tile.pack * ragged * work.packed / 1e6)
    return costs.launch + time + work.cluster * tile.cluster * (1 + costs.rank * work.splits)


def larger(x: Any, y: Any, sharp: float) -> Any:
    """The larger of two times, and a little more where they are nearly the same."""
    return (x**sharp + y**sharp) ** (1 / sharp)
