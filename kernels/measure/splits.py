"""Timings of tiles and of ways to share out their steps, on many shapes, and the model of them.

`python -m kernels tune 18` writes them to `results/`, a GPU's `model.json`, by which `ladder.model`
chooses. Beside step 18 there are other steps, each with rounds and a section of its own: those on
tensor cores would lower the clock for the rest. The costs of the GPU are those that were fitted to
step 18, of whose tiles and splits there are most.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import capability, gpu
from anywarp.progress import progress

from ..analysis.duration import Costs, Tile
from ..analysis.reference import assert_close, inputs
from ..ladder.model import base, packs, work
from ..records import write
from . import bench, cublas
from .fitting import PACK, STREAM, Timing, fit
from .provenance import provenance

LEAST, MOST = 16, 8192  # of the sides that are drawn
SEED, COUNT = 1, 160  # shapes drawn for the model, and these
OTHERS = [(n,) * 3 for n in (512, 1024, 2047, 2048, 4096)] + [
    (64, 8192, 8192), (8192, 64, 8192), (256, 256, 16384), (8192, 8192, 64)]  # fmt: skip
LARGE = [(4097,) * 3, (8192,) * 3]  # and for the other steps, which are for such products
ROUNDS = 5
HOPELESS = 2.5  # times the fastest: not timed again
WORKSPACE = 2**30  # bytes; a way that needs more is left out
CHECKED = (300, 205, 493)  # the shape at which each step is checked


def drawn(seed: int, count: int) -> list[tuple[int, int, int]]:
    """Shapes drawn at random: the logarithm of a side is uniform. Half of them have odd sides,
    the others even ones."""
    logs = np.random.default_rng(seed).uniform(np.log(LEAST), np.log(MOST), (count, 3))
    sides = np.exp(logs).round().astype(int)
    sides[::2] |= 1
    sides[1::2] &= ~1
    return [(int(M), int(N), int(K)) for M, N, K in sides]


def measure(steps: Sequence[Any], shapes: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    """Microseconds of each step, and of cuBLAS, at each shape, by the protocol of `bench` in a few
    rounds; None where a step was hopeless. Raises CheckError for a wrong result."""
    flush = bench.flusher()
    for one in steps:
        _check(one)
    times: list[list[float | None]] = []
    by_cublas = []
    with progress("timing", "shape") as tell:
        for number, (M, N, K) in enumerate(shapes, start=1):
            A, B, C = (_some(*sides) for sides in ((M, K), (K, N), (M, N)))
            able = [n for n, one in enumerate(steps) if one.workspace(M, N, K) <= WORKSPACE]
            works = [functools.partial(cublas.sgemm, A, B, C)]
            works += [functools.partial(steps[n].run, M, N, K, A, B, C, 1, 0, "gpu") for n in able]
            bench.rounds(works, flush, 1, 0)
            once = [ms for (ms,) in bench.rounds(works, flush, 1, 0)]
            likely = [n for n, ms in enumerate(once) if n == 0 or ms <= HOPELESS * min(once[1:])]
            found = bench.rounds([works[n] for n in likely], flush, ROUNDS, 0)
            us = [round(1000 * float(np.median(ms)), 2) for ms in found]
            by_cublas.append(us[0])
            row: list[float | None] = [None] * len(steps)
            for n, time in zip(likely[1:], us[1:]):
                row[able[n - 1]] = time
            times.append(row)
            if tell is not None:
                tell(number, len(shapes))
    labels = [one.label for one in steps]
    return {"labels": labels, "shapes": list(shapes), "cublas_us": by_cublas, "us": times}


def record(
    steps: Sequence[Any],
    others: Mapping[str, Sequence[Any]],
    shapes: Sequence[tuple[int, int, int]] | None,
    output: Path,
) -> None:
    """Measure, fit, and write both; by default on the shapes of the model. `others` are steps
    beside them, by name. Those that want more shared memory than a block can have here, or another
    GPU, are left out."""
    device = gpu.device()
    multiprocessors = device.multiprocessors
    shapes = shapes or [*drawn(SEED, COUNT), *OTHERS]
    able = _able(steps)
    timings = measure(able, shapes)
    model = fitted(able, timings, _tiles(able), multiprocessors)
    sections = {}
    for name, of_step in others.items():
        if able := _able(of_step):
            own = measure(able, [*shapes, *(x for x in LARGE if x not in shapes)])
            sections[name] = section(able, own, _tiles(able), Costs(**model["costs"])) | own
    origin = provenance(multiprocessors=multiprocessors, cublas=cublas.version())
    save({"provenance": origin, **model, **timings, "others": sections}, output)


def save(model: Mapping[str, Any], output: Path) -> None:
    """A line for each of its parts."""
    text = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in model.items())
    write(output, "{\n" + text + "\n}\n")


def _able(steps: Sequence[Any]) -> list[Any]:
    device = gpu.device()
    return [
        one
        for one in steps
        if not capability.lacking(one.compute_capability, one.shared_mem, device)
    ]


def _tiles(steps: Sequence[Any]) -> dict[str, dict[str, int]]:
    where = gpu.device().compute_capability, gpu.arch()
    return {one.label: tile(one, *where) for one in map(base, steps)}


def fitted(
    steps: Sequence[Any],
    timings: Mapping[str, Any],
    tiles: Mapping[str, Mapping[str, int]],
    multiprocessors: int,
) -> dict[str, Any]:
    """The costs of each tile, by the label of its step without splits, and those of the GPU.

    tiles: what `tile` says of each.
    """
    found, costs, error = fit(_rows(steps, timings), tiles, multiprocessors)
    return {"error": error, "costs": costs._asdict(), "tiles": _named(found)}


def section(
    steps: Sequence[Any],
    timings: Mapping[str, Any],
    tiles: Mapping[str, Mapping[str, int]],
    costs: Costs,
) -> dict[str, Any]:
    """The costs of the tiles of another step, on a GPU whose own costs are known."""
    packing = any(packs(one) for one in steps)
    streams = all(one.defines.get("STREAM") for one in steps)
    rows = _rows(steps, timings)
    more = (*(PACK * packing), *(STREAM * streams))
    found, _, error = fit(rows, tiles, costs.multiprocessors, more, costs)
    return {"error": error, "tiles": _named(found)}


def _rows(steps: Sequence[Any], timings: Mapping[str, Any]) -> list[Timing]:
    by_label = {one.label: (base(one).label, one) for one in steps}
    rows = []
    for shape, times in zip(timings["shapes"], timings["us"]):
        for label, us in zip(timings["labels"], times):
            if us is not None:
                name, one = by_label[label]
                rows.append(Timing(name, work(one, *shape), us))
    return rows


def _named(tiles: Mapping[str, Tile]) -> dict[str, dict[str, Any]]:
    return {label: one._asdict() for label, one in tiles.items()}


def tile(step: Any, *where: Any) -> dict[str, int]:
    """What the formula has to know of a step: its tile, and how many blocks an SM holds, which
    `where` names as `Step.occupancy` does."""
    sizes = {name: step.defines[name] for name in ("BM", "BN", "BK")}
    return {**sizes, "resident": step.occupancy(*where).blocks}


def _some(rows: int, columns: int) -> Any:
    """A matrix on the GPU, of small numbers."""
    found = gpu.empty((rows, columns))
    gpu.fill_bytes(found, 0x3D)  # 0.0462
    return found


def _check(step: Any) -> None:
    """Raise CheckError if the step's product is wrong."""
    A, B, C = (gpu.to_device(x) for x in inputs(*CHECKED))
    step.run(*CHECKED, A, B, C, 1, 0, "gpu")
    assert_close(gpu.to_host(C), gpu.to_host(A), gpu.to_host(B))
