"""Timings of tiles and of ways to share out their steps, on many shapes, and the model of them.

`python -m kernels tune 18` keeps both in the user's folder of records: the timings, `Results` as
any, in a GPU's `ways.json`, and the model, by which `ladder.model` chooses, in `model.json`. Beside
step 18 there are other steps, each with rounds and a section of its own: those on tensor cores
would lower the clock for the rest. The costs of the GPU are those that were fitted to step 18, of
whose tiles and splits there are most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import gpu

from ..analysis.duration import Costs
from ..ladder import model
from ..ladder.model import base, packs, work
from ..ladder.step import Step
from ..records import MODEL, WAYS, Results, fastest, own_path, write
from .bench import Protocol, Shape, Timer, measure
from .fitting import PACK, STREAM, Timing, fit
from .tune import prepared

LEAST, MOST = 16, 8192  # of the sides that are drawn
SEED, COUNT = 1, 160  # shapes drawn for the model, and these
OTHERS = [(n,) * 3 for n in (512, 1024, 2047, 2048, 4096, 4097, 8192)] + [
    (64, 8192, 8192), (8192, 64, 8192), (256, 256, 16384), (8192, 8192, 64)]  # fmt: skip
ROUNDS = 5
HOPELESS = 2.5  # times the fastest: not timed again


def drawn(seed: int, count: int) -> list[Shape]:
    """Shapes drawn at random: the logarithm of a side is uniform. Half of them have odd sides,
    the others even ones."""
    logs = np.random.default_rng(seed).uniform(np.log(LEAST), np.log(MOST), (count, 3))
    sides = np.exp(logs).round().astype(int)
    sides[::2] |= 1
    sides[1::2] &= ~1
    return [(int(M), int(N), int(K)) for M, N, K in sides]


def likely(labels: Sequence[str], timer: Timer) -> dict[str, Sequence[float]]:
    """All of them once, and again, in a few rounds, those that are not hopeless."""
    samples = dict(zip(labels, timer(labels, 1, 0)))
    limit = HOPELESS * min((ms for (ms,) in samples.values()), default=0.0)
    again = [label for label in labels if samples[label][0] <= limit]
    return samples | dict(zip(again, timer(again, ROUNDS, 0)))


WORDS = f"once, and {ROUNDS} times what is not {HOPELESS} times as slow as the fastest"
LIKELY = Protocol(likely, {"rounds": WORDS}, group=lambda step: step.id)


def record(
    shapes: Sequence[Shape] = (), output: Path | None = None, jobs: int | None = None
) -> Path:
    """Time the ways among which `sgemm` chooses on this GPU, at the shapes of the model or at
    others beside them; fit the model to all that was timed, write it, and return where.

    The timings are kept beside the model. Raises ValueError for other shapes before those of the
    model were timed, to which it would be fitted alone, and what `prepared` and `measure` raise.
    """
    gpu.require()
    device = gpu.device()
    output = output or own_path(device.name, MODEL)
    timings = output.with_name(WAYS)
    usual = [*drawn(SEED, COUNT), *OTHERS]
    if shapes and (missing := len(set(usual) - _timed(timings))):
        raise ValueError(
            f"{missing} of the {len(usual)} shapes of the model are not in {timings}: "
            f"run `python -m kernels tune {model.STEP}` first; --sizes adds others to them"
        )
    on = model.gpu_of(device)
    others = (variant for variants in model.others(on).values() for variant in variants)
    steps, left_out = prepared([*model.ways(on), *others], jobs)
    measure(steps, list(shapes) or usual, LIKELY, timings, merge=True, left_out=left_out)
    write(output, text_of(modelled(steps, Results.load(timings))))
    return output


def _timed(path: Path) -> set[Shape]:
    """The shapes of a file of timings; none without it."""
    return {(r.M, r.N, r.K) for r in Results.load(path).records} if path.exists() else set()


def modelled(steps: Sequence[Step], timed: Results) -> dict[str, Any]:
    """What `model.json` holds: see `records.model`."""
    multiprocessors = timed.provenance["multiprocessors"]
    names = dict.fromkeys(step.id for step in steps)
    own = {name: [step for step in steps if step.id == name] for name in names}
    tables = {name: table(own[name], timed) for name in names}
    main, rows = own.pop(model.STEP), tables[model.STEP]
    costs, fit_of_18 = fitted(main, rows, multiprocessors)
    sections = {
        name: fitted(variants, tables[name], multiprocessors, costs)[1] | tables[name]
        for name, variants in own.items()
    }
    common = {"provenance": timed.provenance, "costs": costs._asdict()}
    return common | fit_of_18 | rows | {"others": sections}


def table(steps: Sequence[Step], timed: Results) -> dict[str, Any]:
    """Microseconds of each step, and of cuBLAS beside them, at each shape; None where a step was
    hopeless or left out, and where K is so small that it multiplies by FMAs alone."""
    labels = [step.label for step in steps]
    least = {step.label: step.defines.get("LEAST_K", 0) for step in steps}
    by_shape: dict[Shape, dict[str, Any]] = {}
    for r in timed.records:
        if r.step in labels:
            by_shape.setdefault((r.M, r.N, r.K), {})[r.step] = r
    us = [
        [
            round(1000 * there[x].ms, 2)
            if x in there and there[x].repeats >= ROUNDS and K >= least[x]
            else None
            for x in labels
        ]
        for (_, _, K), there in by_shape.items()
    ]
    by_cublas = [round(1000 * (fastest(x.values()).cublas_ms or 0), 2) for x in by_shape.values()]
    return {"labels": labels, "shapes": list(by_shape), "cublas_us": by_cublas, "us": us}


def text_of(parts: Mapping[str, Any]) -> str:
    """A line for each of its parts."""
    text = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in parts.items())
    return "{\n" + text + "\n}\n"


def fitted(
    steps: Sequence[Step],
    timings: Mapping[str, Any],
    multiprocessors: int,
    costs: Costs | None = None,
) -> tuple[Costs, dict[str, Any]]:
    """The costs of the GPU, which another step may have told already, and {"error": …, "tiles":
    the costs of each tile, by the label of its step without splits}."""
    where = gpu.device().compute_capability, gpu.arch()
    tiles = {step.label: tile(step, *where) for step in map(base, steps)}
    by_label = {step.label: step for step in steps}
    rows = [
        Timing(base(by_label[label]).label, work(by_label[label], *shape), us)
        for shape, times in zip(timings["shapes"], timings["us"])
        for label, us in zip(timings["labels"], times)
        if us is not None
    ]
    streams = all(step.defines.get("STREAM") for step in steps)
    more = (*(PACK * any(map(packs, steps))), *(STREAM * streams))
    fits, costs, error = fit(rows, tiles, multiprocessors, more, costs)
    return costs, {"error": error, "tiles": {label: t._asdict() for label, t in fits.items()}}


def tile(step: Step, *where: Any) -> dict[str, int]:
    """What the formula has to know of a step: its tile, and how many blocks an SM holds, which
    `where` names as `Step.occupancy` does."""
    sizes = {name: step.defines[name] for name in ("BM", "BN", "BK")}
    return {**sizes, "resident": step.occupancy(*where).blocks}
