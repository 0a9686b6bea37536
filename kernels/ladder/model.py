"""How long the ways to compute a product take, by a model that was fitted to timings.

`measure.splits` times tiles and ways to share out their steps, and fits the costs of
`analysis.duration`; here they are looked up.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..analysis.duration import Costs, Tile, Work, microseconds
from ..measure import records
from ..run import gpu
from .step import Step, step

RECORDED_ON = "NVIDIA H200"
STEP = "18_split_k"
TILES = (  # each the fastest somewhere among those that were tried
    "BK=8 BM=128 BN=256",
    "BK=16 BM=64 BN=128 STAGES=3 TM=8 TN=8 BLOCKS=3 WM=32 WN=64",
    "BK=8 BM=64 BN=128 TM=8 TN=8 BLOCKS=3 WM=32 WN=64",
    "BK=16 BM=64 BN=64 TM=8 TN=8 BLOCKS=3 WM=32 WN=64 SLICES=2",
    "BK=8 BM=64 BN=64 TM=8 TN=8 BLOCKS=6 WM=32 WN=64",
    "BK=16 BM=64 BN=64 TM=4 TN=8 BLOCKS=4 WM=32 WN=32",
    "BK=16 BM=32 BN=64 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=2",
    "BK=16 BM=64 BN=32 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=2",
    "BK=32 BM=32 BN=64 STAGES=3 TM=4 TN=8 BLOCKS=2 WM=32 WN=32 SLICES=4",
    "BK=32 BM=32 BN=32 STAGES=3 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=4",
    "BK=32 BM=32 BN=32 TM=4 TN=4 BLOCKS=2 WM=16 WN=32 SLICES=4",
    "BK=64 BM=16 BN=32 TM=4 TN=4 BLOCKS=2 WM=16 WN=32 SLICES=8",
    "BK=64 BM=32 BN=16 TM=4 TN=4 BLOCKS=2 WM=32 WN=16 SLICES=8",
)
SHARED = {"SPLITS": 1, "CLUSTER": 0, "STREAM": 0}  # how steps are shared out: one block a tile
REACH = 0.8  # doublings of a side at which a shape that was timed still counts
PRIOR = 1.0  # shapes: how much is believed of the formula
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
    labels = (one.label for one in ways(multiprocessors, capability >= (9, 0)))
    timed = _model()["tiles"]
    return tuple(x for x in labels if _without(x, (*SHARED, "TRANS_A", "TRANS_B")) in timed)


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

    It is what the formula says, times what it was wrong by at the shapes nearby. `alignment` is
    that of all rows that are stored, in bytes. Raises ValueError for a label whose tile has not
    been timed.
    """
    wide = alignment % 16 == 0 and (not trans_a or M % 4 == 0) and (trans_b or N % 4 == 0)
    aligned = wide and (trans_a or not trans_b)  # if neither operand is copied by float4, it is 0
    tile, splits, cluster, stream = _read(label)
    work = Work(M, N, K, splits, cluster, stream, int(aligned))
    known, errors = _errors(_without(label, ("TRANS_A", "TRANS_B")))
    near = _near(M, N, K, bool(aligned))
    correction = math.exp(float(near @ errors) / (float(near @ known) + PRIOR))
    return 1e-6 * float(microseconds(tile, _costs(), work)) * correction


@functools.lru_cache(maxsize=64)
def _near(M: int, N: int, K: int, aligned: bool) -> np.ndarray:
    """How much each of the shapes that were timed counts for this one."""
    timed = np.array(_model()["shapes"], float)
    squares = np.square(np.log2(np.maximum((M, N, K), 1)) - np.log2(timed)).sum(1)
    squares += (timed[:, 1] % 4 == 0) != aligned
    near: np.ndarray = np.exp(-squares / (2 * REACH**2))
    return near


@functools.cache
def _errors(label: str) -> tuple[np.ndarray, np.ndarray]:
    """At which shapes a label was timed, 1 or 0, and the logarithm of measured over predicted."""
    record = _model()
    if label not in record["labels"]:
        nothing = np.zeros(len(record["shapes"]))
        return nothing, nothing
    column = record["labels"].index(label)
    us = np.array([row[column] or 0.0 for row in record["us"]])
    M, N, K = np.array(record["shapes"]).T
    tile, splits, cluster, stream = _read(label)
    work = Work(M, N, K, splits, cluster, stream, 1 * (N % 4 == 0))
    said = microseconds(tile, _costs(), work)
    known = us > 0
    return 1.0 * known, np.where(known, np.log(np.where(known, us, 1) / said), 0.0)


def _without(label: str, names: tuple[str, ...]) -> str:
    return " ".join(word for word in label.split() if word.partition("=")[0] not in names)


@functools.cache
def _read(label: str) -> tuple[Tile, int, int, int]:
    """The tile of a label, and how it shares out the steps."""
    shared = dict(SHARED)
    for word in label.split():
        name, _, value = word.partition("=")
        if name in shared:
            shared[name] = int(value)
    base = _without(label, ("TRANS_A", "TRANS_B", *shared))
    tiles = _model()["tiles"]
    if base not in tiles:
        raise ValueError(f"{base!r} has not been timed; there are {', '.join(tiles)}")
    return Tile(**tiles[base]), shared["SPLITS"], shared["CLUSTER"], shared["STREAM"]


@functools.cache
def _costs() -> Costs:
    return Costs(**_model()["costs"])


@functools.cache
def _model() -> dict[str, Any]:
    """Fitted on this GPU, where `python -m kernels tune` has run, or else on the recorded one."""
    if gpu.available():
        try:
            return records.model(gpu.device().name)
        except ValueError:
            pass
    return records.model(RECORDED_ON)
