"""How long the ways to compute a product take, by a model that was fitted to timings.

`measure.splits` times steps, tiles and ways to share out their steps, and fits the costs of
`analysis.duration`; here they are looked up. What was fitted on a GPU stands in its record, for as
many SMs as it has; any other GPU has the record of an H200, with its own SMs, as many blocks of a
tile on each as it has room for, and its own memory bandwidth. A step that a record lacks is as an
H100 timed it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from anywarp import capability, gpu

from .. import records
from ..analysis.duration import Costs, Tile, Work, microseconds
from ..analysis.hierarchy import SMS
from .source import parse
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
    "24_halves": tuple(
        tile + splits for tile in ("", " BM=64") for splits in ("", " SPLITS=2", " SPLITS=4")
    ),
}
REACH = 0.8  # doublings of a side at which a shape that was timed still counts
PRIOR = 1.0  # weight of the formula, in timed shapes
LARGE = 64 * 64  # tiles of so many elements are worth a stream
CLUSTERS = (2, 4, 8)  # splits that are a cluster
SPLITS = {True: (4, 16), False: (16, 64)}  # others, of tiles that are large or not
GBS = 4917.0  # of an H200's memory by its clock and width, as its driver says
ASYNC = (8, 0)  # the first compute capability with cp.async
LOADS = {  # what stands in its place for an older one, in step 18
    """    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::
                 "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(4 * W),
                 "r"(exists ? 4 * W : 0) : "memory");
""": """    if constexpr (W == 4)
        FLOAT4(*to) = exists ? FLOAT4(*(float*)from) : float4{};
    else
        *to = exists ? *from : 0.0f;
""",
    'asm volatile("cp.async.commit_group;" ::: "memory");': "",
    'asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");': "",
    'asm volatile("cp.async.wait_all;" ::: "memory");': "",
}


class Gpu(NamedTuple):
    """What a model is of: with these, it is another one."""

    name: str
    multiprocessors: int
    compute_capability: tuple[int, int] = (9, 0)
    memory_gbs: float = 0.0  # by clock and width, 10^9 bytes a second; 0 if the driver does not say


H200 = Gpu(RECORDED_ON, SMS)


def gpu_of(device: gpu.Device) -> Gpu:
    """What the model has to know of a GPU."""
    facts = device.multiprocessors, device.compute_capability, device.memory_gbs
    return Gpu(device.name, *facts)


@functools.lru_cache(maxsize=1024)
def named(label: str, compute_capability: tuple[int, int] = (9, 0)) -> Step:
    """The step of a label, for a GPU: where that has no cp.async, step 18 loads and stores instead,
    with the same sums, in the same order."""
    asked = step(label)
    if asked.id != STEP or compute_capability >= ASYNC:
        return asked
    text = asked.file.text
    for copy, load in LOADS.items():
        assert text.count(copy) == 1, f"{STEP} has no line {copy!r} any more"
        text = text.replace(copy, load)
    older = text.replace(f"{capability.NAME}: 8.0,", f"{capability.NAME}: 7.5,")
    return Step(parse(asked.path, older), asked.defines)


def ways(on: Gpu = H200) -> tuple[Step, ...]:
    """Step 18 with each tile and each way to share out its steps on a GPU."""
    steps = []
    for tile in TILES:
        whole = named(f"{STEP} {tile}", on.compute_capability)
        large = whole.defines["BM"] * whole.defines["BN"] >= LARGE
        steps.append(whole)
        if on.compute_capability >= (9, 0):
            steps += [whole.define(SPLITS=n, CLUSTER=1) for n in CLUSTERS]
        steps += [whole.define(SPLITS=n) for n in SPLITS[large]]
        if large:
            steps.append(_streaming(whole, whole.defines["BLOCKS"], on))
    return tuple(steps)


def _streaming(whole: Step, blocks: int, on: Gpu) -> Step:
    """The step with a stream of so many blocks for an SM, or as many as one has room for."""
    return whole.define(STREAM=on.multiprocessors * min(blocks, resident(base(whole).label, on)))


def others(on: Gpu = H200) -> dict[str, tuple[Step, ...]]:
    """The steps of OTHERS, by name; a stream has as many blocks for an SM as there, if it can."""

    def sized(variant: Step) -> Step:
        blocks = variant.defines.get("STREAM", 0) // H200.multiprocessors
        return _streaming(variant, blocks, on) if blocks and _runs(variant, on) else variant

    return {
        name: tuple(sized(step(name + text)) for text in variants)
        for name, variants in OTHERS.items()
    }


def _runs(variant: Step, on: Gpu) -> bool:
    """Whether the GPU has the compute capability that a variant needs."""
    return capability.runs_on(variant.compute_capability, on.compute_capability)


@functools.cache
def resident(label: str, on: Gpu) -> int:
    """How many blocks of a tile, which the label of a step without splits names, an SM of the GPU
    holds. Known for the tiles above and `anywarp.analysis.occupancy.SMS`; for others it is compiled
    for the GPU. 0 where not even one has room."""
    if _own(on) is not None:
        for section, _ in _sections(on):
            if label in section["tiles"]:
                return int(section["tiles"][label]["resident"])
    name = capability.text(on.compute_capability)
    if label in (known := _residents().get(name, {})):
        return known[label]
    return occupied(named(label, on.compute_capability), on.compute_capability)


def occupied(tile: Step, compute_capability: tuple[int, int]) -> int:
    """As `resident`, by the compiler. 0 also where the limits of the GPU are not known here."""
    try:
        arch = "sm_{}{}".format(*compute_capability)
        return tile.occupancy(compute_capability, arch).blocks
    except ValueError:  # a block wants more than an SM has
        return 0


@functools.cache
def _residents() -> dict[str, dict[str, int]]:
    """Blocks on an SM that are recorded, by compute capability and label."""
    text = (records.FOLDER / records.RESIDENTS).read_text(encoding="utf-8")
    table: dict[str, dict[str, int]] = json.loads(text)
    return table


@functools.cache
def candidates(on: Gpu = H200, tensor_cores: bool = False) -> tuple[str, ...]:
    """The labels among which `predicted` can choose on a GPU. Machine code is reordered for compute
    capability 9.0 alone."""
    every = [*ways(on), *(way for variants in others(on).values() for way in variants)]
    labels = {
        way.label: base(way).label
        for way in every
        if (tensor_cores or not way.tensor_cores)
        and _runs(way, on)
        and (on.compute_capability == (9, 0) or not way.file.reordered)
    }
    timed = {label for section, _ in _sections(on) for label in section["tiles"]}
    return tuple(x for x, tile in labels.items() if tile in timed and resident(tile, on))


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
    said = microseconds(way.tile, _costs(on), work(way.step, M, N, K, bool(aligned)))
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
    """The candidate of a label, with what was fitted and timed of it."""
    way = step(label)
    way = way.define(**{x: 0 for x in ("TRANS_A", "TRANS_B") if x in way.defines})
    name, sections = base(way).label, _sections(on)
    where = next((n for n, (section, _) in enumerate(sections) if name in section["tiles"]), None)
    if where is None:
        timed = ", ".join(x for section, _ in sections for x in section["tiles"])
        raise ValueError(f"{name!r} has not been timed; there are {timed}")
    section, costs = sections[where]
    tile = Tile(**section["tiles"][name])
    us = np.zeros(len(section["shapes"]))
    if way.label in section["labels"]:
        column = section["labels"].index(way.label)
        us = np.array([row[column] or 0.0 for row in section["us"]])
    known = us > 0
    M, N, K = np.array(section["shapes"]).T
    said = microseconds(tile, costs, work(way, M, N, K))  # where it was timed
    errors = np.where(known, np.log(np.where(known, us, 1) / said), 0.0)
    if _own(on) is None:
        there = {"resident": max(1, resident(name, on)), "gbs": tile.gbs * _bandwidth(on)}
        tile = tile._replace(**there)
    return Way(way, tile, where, 1.0 * known, errors)


@functools.lru_cache(maxsize=256)
def _near(M: int, N: int, K: int, aligned: bool, section: int, on: Gpu) -> np.ndarray:
    """How much each of the shapes that were timed counts for this one."""
    timed = np.array(_sections(on)[section][0]["shapes"], float)
    squares = np.square(np.log2(np.maximum((M, N, K), 1)) - np.log2(timed)).sum(1)
    squares += (timed[:, 1] % 4 == 0) != aligned
    near: np.ndarray = np.exp(-squares / (2 * REACH**2))
    return near


@functools.cache
def _costs(on: Gpu) -> Costs:
    """The costs that were fitted, with the SMs and the bandwidth of this GPU."""
    costs = Costs(**_record(on)["costs"])
    gbs = costs.gbs * (_bandwidth(on) if _own(on) is None else 1)
    return costs._replace(multiprocessors=on.multiprocessors, gbs=gbs)


@functools.cache
def _bandwidth(on: Gpu) -> float:
    """Of the GPU's memory, over an H200's: as copies were measured, or else as the driver says."""
    for read in (records.results, records.tuned):
        try:
            return read(on.name).copy_gbs / records.results(RECORDED_ON).copy_gbs
        except ValueError:
            continue
    return on.memory_gbs / GBS or 1.0


@functools.cache
def _sections(on: Gpu) -> tuple[tuple[Mapping[str, Any], Costs], ...]:
    """Of step 18, and of the others, each with the costs of the GPU that it was timed on."""
    record, later = _record(on), records.model(records.SAME_SM)
    of_name = {name: (section, later) for name, section in later["others"].items()}
    of_name |= {name: (section, record) for name, section in record.get("others", {}).items()}
    every = (record, record), *of_name.values()
    return tuple((section, Costs(**timed["costs"])) for section, timed in every)


def _record(on: Gpu) -> dict[str, Any]:
    """Fitted on such a GPU, where `python -m kernels tune` has run, or else on the recorded one."""
    return _own(on) or _recorded()


@functools.cache
def _own(on: Gpu) -> dict[str, Any] | None:
    """What was fitted on such a GPU, None if nothing was."""
    try:
        record = records.model(on.name)
    except ValueError:
        return None
    here = on.multiprocessors, capability.text(on.compute_capability)
    there = (record["provenance"][x] for x in ("multiprocessors", "compute_capability"))
    return record if here == tuple(there) else None


@functools.cache
def _recorded() -> dict[str, Any]:
    """What was fitted on the GPU of the book."""
    return records.model(RECORDED_ON)


def base(way: Step) -> Step:
    """The step with a block for each tile, its operands not transposed."""
    there = ("SPLITS", "CLUSTER", "STREAM", "TRANS_A", "TRANS_B")
    return way.define(**{name: way.file.defines[name] for name in there if name in way.defines})


def is_whole(way: Step) -> bool:
    """Whether a block computes a tile along all of K."""
    return way.defines.get("SPLITS", 1) == 1 and not way.defines.get("STREAM")


def work(way: Step, M: Any, N: Any, K: Any, aligned: bool | None = None) -> Work:
    """How the step shares out a product, or many if the sides are arrays. `aligned`, unless given:
    as matrices without gaps are."""
    splits, stream = (
        way.defines.get(name, usual) for name, usual in (("SPLITS", 1), ("STREAM", 0))
    )
    cluster = way.defines.get("CLUSTER", int(splits > 1))  # 21 has no other way
    whole = N % 4 == 0 if aligned is None else aligned
    if way.defines.get("SWAP_AB"):  # its tiles are those of the transpose
        M, N = N, M
    packed = packs(way) * (K * N + ("SWAP_AB" not in way.defines) * M * K)
    return Work(M, N, K, splits, cluster, stream, 1 * whole, packed)


def packs(way: Step) -> bool:
    """Whether a launch before packs both factors, or the small one of those that SWAP_AB names."""
    return way.file.launches[0].kernel == "pack"
