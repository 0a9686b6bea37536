"""The costs of `analysis.duration`, fitted to timings: least squares of the logarithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..analysis.duration import Costs, Tile, Work, microseconds

FREE = ("start", "latency", "step", "ragged", "cluster")  # what is fitted of a tile,
PACK, STREAM = ("pack",), ("piece", "gbs")  # and of one whose step packs, or has a stream alone
COMMON = ("launch", "gbs", "reduce", "part", "rank", "piece")  # and of the GPU
# where the search begins: microseconds, but for `ragged`, `gbs` and `rank`
START = {"start": 1.5, "ragged": 1.05, "cluster": 1.0, "pack": 2.5, "piece": 1.0, "gbs": 3000.0}
COSTS = {"launch": 2.5, "gbs": 3000.0, "reduce": 2.0, "part": 0.05, "rank": 0.1, "piece": 2.0}
PACKING = 0.91  # clusters of 2 to 8 on an H200; a fraction of SMs is no smooth parameter
OUTLIER = 0.15  # errors beyond this share count less than their squares
STEP = 1e-4  # of a logarithm, for derivatives
ROUNDS = 60  # of a search, at most


class Timing(NamedTuple):
    """How long a label's tile took for a piece of work."""

    tile: str
    work: Work
    us: float


def fit(
    timings: Sequence[Timing],
    shapes: Mapping[str, Mapping[str, Any]],
    multiprocessors: int,
    more: Sequence[str] = (),
    costs: Costs | None = None,
) -> tuple[dict[str, Tile], Costs, float]:
    """The costs of each tile and of the GPU, and the root mean square of the error's logarithm.

    shapes: BM, BN, BK and `resident` of each tile by name. more: costs of a tile that are fitted
    beside FREE. costs: of the GPU, if they are known already, from another step's tiles.
    """
    names = list(shapes)
    of_tile, of_gpu = (*FREE, *more), COMMON if costs is None else ()
    which = np.array([names.index(timing.tile) for timing in timings])
    work = Work(*(np.array(values) for values in zip(*(timing.work for timing in timings))))
    known = {
        key: np.array([float(shape[key]) for shape in shapes.values()])
        for key in ("BM", "BN", "BK", "resident")
    }
    measured = np.log([timing.us for timing in timings])
    macs = known["BM"] * known["BN"] * known["BK"]
    first = [START | {"latency": 0.02 * k, "step": m / 2e5} for k, m in zip(known["BK"], macs)]
    begin = [costs_of[key] for key in of_tile for costs_of in first]
    begin += [COSTS[key] for key in of_gpu]

    def unpacked(logs: np.ndarray) -> tuple[dict[str, np.ndarray], Costs]:
        values = np.exp(logs)
        count = len(of_tile) * len(names)
        free = dict(zip(of_tile, values[:count].reshape(len(of_tile), -1)))
        if costs is not None:
            return free, costs
        common = dict(zip(COMMON, values[count:].tolist()))
        return free, Costs(multiprocessors=multiprocessors, packing=PACKING, **common)

    def errors(logs: np.ndarray) -> np.ndarray:
        free, costs_of_gpu = unpacked(logs)
        tile = Tile(**{key: values[which] for key, values in (known | free).items()})
        logs_of_ratios: np.ndarray = np.log(microseconds(tile, costs_of_gpu, work)) - measured
        return logs_of_ratios

    best = least_squares(errors, np.log(np.array(begin)))
    free, fitted = unpacked(best)
    tiles = {
        name: Tile(
            **{key: int(values[n]) for key, values in known.items()},
            **{key: float(values[n]) for key, values in free.items()},
        )
        for n, name in enumerate(names)
    }
    return tiles, fitted, float(np.sqrt(np.mean(errors(best) ** 2)))


def least_squares(errors: Callable[[np.ndarray], np.ndarray], begin: np.ndarray) -> np.ndarray:
    """Where the errors are least, by Levenberg and Marquardt; large ones count linearly."""
    now: np.ndarray = begin
    residuals, damping = errors(begin), 1e-2
    for _ in range(ROUNDS):
        slopes = np.stack(
            [(errors(now + STEP * unit) - residuals) / STEP for unit in np.eye(len(now))], axis=1
        )
        weighted = slopes.T / np.sqrt(1 + (residuals / OUTLIER) ** 2)
        curvature = weighted @ slopes
        for _ in range(8):
            damped = curvature + damping * np.diag(np.diag(curvature) + 1e-6)
            tried = now - np.clip(np.linalg.solve(damped, weighted @ residuals), -1, 1)
            after = errors(tried)
            if cost(after) < cost(residuals):
                break
            damping *= 4
        else:
            return now
        gained = 1 - cost(after) / cost(residuals)
        now, residuals, damping = tried, after, max(damping / 5, 1e-6)
        if gained < 1e-4:
            return now
    return now


def cost(errors: np.ndarray) -> float:
    """The sum of squares, of sizes where an error is large."""
    return float(np.sum(np.sqrt(1 + (errors / OUTLIER) ** 2) - 1))
