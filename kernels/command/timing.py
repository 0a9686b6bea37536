"""Commands that time steps on the GPU: bench, tune."""

from __future__ import annotations

import argparse
import sys

from anywarp import gpu

from ..ladder import model
from ..ladder.space import SPACES, candidates
from ..ladder.step import step
from ..measure import bench, splits, tune
from ..records import TUNE, sides
from . import shapes
from .words import SIDES, chosen, command, lacking, option, usage


def run_bench(options: argparse.Namespace) -> int:
    """Print the timings; they are saved where that is asked for."""
    if options.merge and not options.output:
        options.parser.error("--merge goes with --output")
    steps, sizes = chosen(options), options.sizes or bench.SIZES
    measured = bench.benchmark(steps, sizes, options.output, merge=options.merge)
    print(measured.to_json() if options.json else measured)
    for line in bench.unordered(steps):
        print(line, file=sys.stderr)
    return 0


def run_tune(options: argparse.Namespace) -> int:
    """Search the tiles, fit the model, and save what was measured."""
    gpu.require()
    products = [sides(size) for size in options.sizes or ()]
    with usage(options):
        asked = [step(name).id for name in options.steps] or [*SPACES, model.STEP]
        every = [way for name in asked if name != model.STEP for way in candidates(name)]
    if every and model.STEP in asked and options.output:
        options.parser.error(f"{model.STEP} has a record of its own: give --output to one of both")
    if options.json and not every:
        options.parser.error(f"--json goes with {', '.join(SPACES)}, not {model.STEP} alone")
    with usage(options):
        if every:
            able = [way for way in every if lacking(way) is None]
            if not able and model.STEP in asked and not options.steps:
                print(f"{every[0].id} is left out: it {lacking(every[0])}", file=sys.stderr)
            else:
                searched = tune.tune(every, products, options.output, options.jobs)
                print(searched.to_json() if options.json else tune.summary(searched))
        if model.STEP in asked:
            path = splits.record(products, options.output, options.jobs)
            print(f"the model by which sgemm chooses is in {path}", file=sys.stderr)
    return 0


KEEP = "keep what PATH has of other steps and shapes, if measured under the same conditions"
BENCH = command(
    run_bench,
    "bench",
    "time steps on the GPU, with cuBLAS beside them",
    "steps",
    option("--sizes", help=f"{SIDES}; default: {' '.join(map(str, bench.SIZES))}"),
    option("--output", help="save the records here"),
    option("--merge", action="store_true", help=KEEP),
    "--variants",
    "--json",
)
SEARCHED = f"of {', '.join(SPACES)} and {model.STEP}, of which sgemm chooses; all if none"
USUAL = f"{' '.join(map(str, tune.SIZES))}; of {model.STEP}, many shapes drawn at random"
SAVED = f"save what is measured here, beside what is there; default: GPU/{TUNE} in your folder"
JOBS = "compilers side by side; default: one for each core"
TUNING = command(
    run_tune,
    "tune",
    "search the tiles of a step on the GPU, and fit the model by which sgemm chooses",
    option("steps", type=str, help=SEARCHED),
    option("--sizes", help=f"{SIDES}; default: {USUAL}"),
    option("--output", help=SAVED),
    option("--jobs", type=shapes.size, metavar="N", help=JOBS),
    "--json",
)
