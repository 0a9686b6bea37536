"""How long the ways to compute a product take, by a model that was fitted to timings.

`measure.splits` times tiles and ways to share out their steps, and fits the costs of
`analysis.duration`; here they are looked up.
"""

from __future__ import annotations

import functools
from typing import Any

from ..analysis.duration import Costs, Tile, Work, microseconds
from ..measure import records
from .step import Step, step

RECORDED_ON = "NVIDIA H200"
STEP = "18_split_k"
TILES = (  # each the fastest somewhere among those that were tried
    "BK=8 BM=128 BN=256",
    "BK=16 BM=64 BN=128 STAGES=3 TM=8 TN=8 BLOCKS=3 WM=32 WN=64",
    "BK=8 BM=64 BN=128 TM=8 TN=8 BLOCKS=3 WM=32 WN=64",
    "BK=16 BM=64 BN=64 TM=8 TN=8 BLOCKS=3 WM=32 WN=64 SLICES=2",
    "BK=16 BM=32 BN=64 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=2",
    "BK=16 BM=64 BN=32 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=2",
    "BK=32 BM=32 BN=64 STAGES=3 TM=4 TN=8 BLOCKS=2 WM=32 WN=32 SLICES=4",
    "BK=32 BM=32 BN=32 STAGES=3 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=4",
    "BK=64 BM=16 BN=32 TM=4 TN=4 BLOCKS=2 WM=16 WN=32 SLICES=8",
    "BK=64 BM=32 BN=16 TM=4 TN=4 BLOCKS=2 WM=32 WN=16 SLICES=8",
)
LARGE = 64 * 64  # tiles of so many elements are worth a stream
CLUSTERS = (2, 4, 8)  # splits that are a cluster
SPLITS = {True: (4, 16), False: (16, 64)}  # others, of tiles that are large or not


def ways(multiprocessors: int, clusters: bool) -> tuple[Step, ...]:
    """Step 18 with each tile and each way to share out its steps."""
    found = []
    for tile in TILES:
        one = step(f"{STEP} {tile}")
        large = one.defines["BM"] * one.defines["BN"] >= LARGE
        found.append(one)
        if clusters:
            found += [one.define(SPLITS=n, CLUSTER=1) for n in CLUSTERS]
        found += [one.define(SPLITS=n) for n in SPLITS[large]]
        if large:
            found.append(one.define(STREAM=multiprocessors * one.defines["BLOCKS"]))
    return tuple(found)


@functools.cache
def candidates(capability: tuple[int, int], multiprocessors: int) -> tuple[str, ...]:
    """The labels among which `predicted` can choose on a GPU; none if it is too old for them."""
    if capability < step(STEP).compute_capability:
        return ()
    return tuple(one.label for one in ways(multiprocessors, capability >= (9, 0)))


def predicted(
    label: str,
    M: int,
    N: int,
    K: int,
    trans_a: bool = False,
    trans_b: bool = False,
    alignment: int = 16,
) -> float:
    """Seconds that a product takes, all launches, with a cold L2.

    `alignment` is that of all rows that are stored, in bytes. Raises ValueError for a label whose
    tile has not been timed.
    """
    wide = alignment % 16 == 0 and (not trans_a or M % 4 == 0) and (trans_b or N % 4 == 0)
    aligned = wide and (trans_a or not trans_b)  # if neither operand is copied by float4, it is 0
    tile, splits, cluster, stream = _read(label)
    work = Work(M, N, K, splits, cluster, stream, int(aligned))
    return 1e-6 * float(microseconds(tile, _costs(), work))


@functools.cache
def _read(label: str) -> tuple[Tile, int, int, int]:
    """The tile of a label, and how it shares out the steps."""
    shared = {"SPLITS": 1, "CLUSTER": 0, "STREAM": 0}
    kept = []
    for word in label.split():
        name, _, value = word.partition("=")
        if name in shared:
            shared[name] = int(value)
        elif name not in ("TRANS_A", "TRANS_B"):
            kept.append(word)
    tiles = _model()["tiles"]
    if " ".join(kept) not in tiles:
        raise ValueError(f"{' '.join(kept)!r} has not been timed; there are {', '.join(tiles)}")
    return Tile(**tiles[" ".join(kept)]), shared["SPLITS"], shared["CLUSTER"], shared["STREAM"]


@functools.cache
def _costs() -> Costs:
    return Costs(**_model()["costs"])


@functools.cache
def _model() -> dict[str, Any]:
    return records.model(RECORDED_ON)
