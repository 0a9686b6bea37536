"""How long the ways to compute a product take, by a model that was fitted to timings.

`measure.splits` times steps, tiles and ways to share out their steps, and fits the costs of
`analysis.duration`; here they are looked up. What was fitted on a GPU stands in its record, for as
many SMs as it has; any other GPU has the record of an H200, with its own number of SMs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import records
from ..analysis.duration import Costs, Tile, Work, microseconds
from .step import Step, step

RECORDED_ON = records.RECORDED_ON
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
OTHERS = {  # steps beside it, each with the variants that are worth a try
    "19_machine_code": ("",),
    "20_tensor_cores": ("", " BM=64 BN=64 WM=32 WN=32"),
    "21_warpgroups": ("", " SPLITS=2", " BM=64", " BM=64 SPLITS=2"),
    "23_skinny": tuple(
        tile + swap
        for tile in ("", " BN=64", " BM=64 BN=64 STAGES=2 STREAM=396")
        for swap in ("", " SWAP_AB=1")
    ),
}
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


class Gpu(NamedTuple):
    """What a model is of: with these, it is another one."""

    name: str
    multiprocessors: int


H200 = Gpu(RECORDED_ON, 132)


def others(multiprocessors: int) -> dict[str, tuple[Step, ...]]:
    """The steps of OTHERS, by name; a stream has as many blocks for an SM as there."""

    def sized(one: Step) -> Step:
        blocks = one.defines.get("STREAM", 0) // H200.multiprocessors
        return one.define(STREAM=blocks * multiprocessors) if blocks else one

    return {
        name: tuple(sized(step(name + x)) for x in variants) for name, variants in OTHERS.items()
    }


@functools.cache
def candidates(
    capability: tuple[int, int],
    multiprocessors: int,
    name: str = RECORDED_ON,
    tensor_cores: bool = False,
) -> tuple[str, ...]:
    """The labels among which `predicted` can choose on a GPU; none if it is too old for them.
    Machine code is reordered for compute capability 9.0 alone."""
    if capability < step(STEP).compute_capability:
        return ()
    steps = [*ways(multiprocessors, capability >= (9, 0))]
    for variants in others(multiprocessors).values():
        steps += [
            one
            for one in variants
            if (tensor_cores or not one.tensor_cores)
            and (capability == (9, 0) or not one.file.reordered)
        ]
    timed = {x for section in _sections(Gpu(name, multiprocessors)) for x in section["tiles"]}
    return tuple(one.label for one in steps if base(one).label in timed)


def predicted(
    label: str,
    M: int,
    N: int,
    K: int,
    trans_a: bool = False,
    trans_b: bool = False,
    alignment: int = 16,
    on: Gpu = H200,
) -> float:
    """Seconds that a product takes, all launches, with a cold L2.

    It is what the formula says, times what it was wrong by at the shapes nearby. `alignment` is
    that of all rows that are stored, in bytes. Raises ValueError for a label whose tile has not
    been timed.
    """
    wide = alignment % 16 == 0 and (not trans_a or M % 4 == 0) and (trans_b or N % 4 == 0)
    aligned = wide and (trans_a or not trans_b)  # if neither operand is copied by float4, it is 0
    way = _way(label, on)
    said = microseconds(way.tile, _costs(on), work(way.step, M, N, K, aligned))
    near = _near(M, N, K, bool(aligned), way.section, on)
    correction = math.exp(float(near @ way.errors) / (float(near @ way.known) + PRIOR))
    return 1e-6 * float(said) * correction


class Way(NamedTuple):
    """A candidate, and at which shapes of its section it was timed, 1 or 0, with the logarithm of
    measured over predicted."""

    step: Step
    tile: Tile
    section: int
    known: np.ndarray
    errors: np.ndarray


@functools.cache
def _way(label: str, on: Gpu) -> Way:
    one = step(label)
    one = one.define(**{x: 0 for x in ("TRANS_A", "TRANS_B") if x in one.defines})
    name, sections = base(one).label, _sections(on)
    where = next((n for n, section in enumerate(sections) if name in section["tiles"]), None)
    if where is None:
        timed = ", ".join(x for section in sections for x in section["tiles"])
        raise ValueError(f"{name!r} has not been timed; there are {timed}")
    section = sections[where]
    tile = Tile(**section["tiles"][name])
    us = np.zeros(len(section["shapes"]))
    if one.label in section["labels"]:
        column = section["labels"].index(one.label)
        us = np.array([row[column] or 0.0 for row in section["us"]])
    known = us > 0
    M, N, K = np.array(section["shapes"]).T
    said = microseconds(tile, Costs(**_record(on)["costs"]), work(one, M, N, K))  # timed there
    errors = np.where(known, np.log(np.where(known, us, 1) / said), 0.0)
    return Way(one, tile, where, 1.0 * known, errors)


@functools.lru_cache(maxsize=256)
def _near(M: int, N: int, K: int, aligned: bool, section: int, on: Gpu) -> np.ndarray:
    """How much each of the shapes that were timed counts for this one."""
    timed = np.array(_sections(on)[section]["shapes"], float)
    squares = np.square(np.log2(np.maximum((M, N, K), 1)) - np.log2(timed)).sum(1)
    squares += (timed[:, 1] % 4 == 0) != aligned
    near: np.ndarray = np.exp(-squares / (2 * REACH**2))
    return near


@functools.cache
def _costs(on: Gpu) -> Costs:
    return Costs(**_record(on)["costs"])._replace(multiprocessors=on.multiprocessors)


@functools.cache
def _sections(on: Gpu) -> tuple[Mapping[str, Any], ...]:
    """Of step 18, and of the others."""
    record = _record(on)
    return record, *record.get("others", {}).values()


@functools.cache
def _record(on: Gpu) -> dict[str, Any]:
    """Fitted on such a GPU, where `python -m kernels tune` has run, or else on the recorded one."""
    try:
        found = records.model(on.name)
    except ValueError:
        return records.model(RECORDED_ON)
    same = found["provenance"]["multiprocessors"] == on.multiprocessors
    return found if same else records.model(RECORDED_ON)


def base(step: Any) -> Any:
    """The step with a block for each tile, its operands not transposed."""
    there = ("SPLITS", "CLUSTER", "STREAM", "TRANS_A", "TRANS_B")
    return step.define(**{name: step.file.defines[name] for name in there if name in step.defines})


def work(step: Any, M: Any, N: Any, K: Any, aligned: bool | None = None) -> Work:
    """How the step shares out a product, or many if the sides are arrays. `aligned`, unless given:
    as matrices without gaps are."""
    splits, stream = (
        step.defines.get(name, usual) for name, usual in (("SPLITS", 1), ("STREAM", 0))
    )
    cluster = step.defines.get("CLUSTER", int(splits > 1))  # 21 has no other way
    whole = N % 4 == 0 if aligned is None else aligned
    if step.defines.get("SWAP_AB"):  # its tiles are those of the transpose
        M, N = N, M
    packed = packs(step) * (K * N + ("SWAP_AB" not in step.defines) * M * K)
    return Work(M, N, K, splits, cluster, stream, 1 * whole, packed)


def packs(step: Any) -> bool:
    """Whether a launch before packs both factors, or the small one of those that SWAP_AB names."""
    return bool(step.file.launches[0].kernel == "pack")
