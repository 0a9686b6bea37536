"""Commands that time steps on the GPU: bench, experiments, tune."""

from __future__ import annotations

import argparse
import sys

from anywarp import gpu

from ..analysis.reference import CheckError, inputs
from ..ladder import model
from ..ladder.product.layout import laid_out
from ..ladder.space import SPACES, candidates
from ..ladder.step import step
from ..measure import bench, experiments, floors, splits, tune
from ..records import MODEL, recorded_path
from .words import Command, add_json, add_output, add_sizes, add_variants, chosen, cube, size


def add_bench(command: Command) -> None:
    timing = command(run_bench, "bench", "time steps on the GPU, with cuBLAS beside them")
    add_sizes(timing, bench.SIZES)
    add_output(timing, "save the records here")
    timing.add_argument(
        "--merge",
        action="store_true",
        help="keep what PATH has of other steps and shapes, if measured under the same conditions",
    )
    timing.add_argument(
        "--compare",
        action="store_true",
        help="time one size and compare with published kernels; without a GPU, what is recorded",
    )
    timing.add_argument(
        "--recorded", action="store_true", help="with --compare: what is recorded, in any case"
    )
    add_variants(timing)
    add_json(timing)


def add_experiments(command: Command) -> None:
    text = "time the edits of steps that decide a question"
    deciding = command(run_experiments, "experiments", text, takes_steps=False)
    deciding.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(experiments.TABLE)}; all if none"
    )
    usual = "kernels/records/GPU/experiments.json"
    add_output(deciding, f"save the records here; default: {usual}")
    deciding.add_argument(
        "--stalls", action="store_true", help="record what warps wait for at 4096 instead"
    )
    deciding.add_argument(
        "--launch", type=cube, metavar="N", help="launch each step once, for a profiler to watch"
    )


def add_tune(command: Command) -> None:
    text = "search the tiles of a step on the GPU, and fit the model by which sgemm chooses"
    searching = command(run_tune, "tune", text, takes_steps=False)
    searching.add_argument(
        "steps",
        nargs="*",
        metavar="STEP",
        help=f"of {', '.join(SPACES)} and {model.STEP}, of which sgemm chooses; all if none",
    )
    add_sizes(searching, tune.SIZES)
    add_output(searching, "save what was found here; default: kernels/records/GPU/tune.json")
    searching.add_argument(
        "--merge", action="store_true", help="keep what is there of other steps and shapes"
    )
    searching.add_argument(
        "--jobs", type=size, metavar="N", help="compilers side by side; default: one for each core"
    )
    add_json(searching)


def run_bench(options: argparse.Namespace) -> int:
    wrong = {
        "--merge goes with --output": options.merge and not options.output,
        "--recorded goes with --compare": options.recorded and not options.compare,
        "--recorded measures nothing: --output has no place there": options.recorded
        and options.output,
        "--compare has a size of its own: leave out --sizes": options.compare and options.sizes,
    }
    for message in (text for text, is_so in wrong.items() if is_so):
        options.parser.error(message)
    saving = options.output, options.merge, options.json
    if options.compare:
        return floors.run_cli(chosen(options), options.recorded, *saving)
    return bench.run_cli(chosen(options), options.sizes or bench.SIZES, *saving)


def run_experiments(options: argparse.Namespace) -> int:
    try:
        if options.launch:
            A, B, _ = inputs(options.launch, options.launch, options.launch)
            for one in experiments.launched(options.names, step):
                one(*laid_out(A, B, one.defines), device="gpu")
            return 0
        if options.stalls:
            experiments.stalls(options.names, step, output=options.output)
            return 0
        found = experiments.run(options.names, step, options.output)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        options.parser.error(str(error))
    for name, results in found.items():
        print(f"\n{name}: {experiments.TABLE[name].question}\n{results}")
    return 0


def run_tune(options: argparse.Namespace) -> int:
    gpu.require()
    shapes = [(one,) * 3 if isinstance(one, int) else one for one in options.sizes or ()]
    try:
        asked = [step(name).id for name in options.steps] or [*SPACES, model.STEP]
        every = [one for name in asked if name != model.STEP for one in candidates(name)]
    except ValueError as error:
        options.parser.error(str(error))
    if every and model.STEP in asked and options.output:
        options.parser.error(f"{model.STEP} has a record of its own: give --output to one of both")
    for option in ("merge", "jobs", "json") if not every else ():
        if getattr(options, option):
            options.parser.error(
                f"--{option} goes with {', '.join(SPACES)}, not {model.STEP} alone"
            )
    status = 0
    if every:
        sizes = shapes or [(size,) * 3 for size in tune.SIZES]
        status = tune.run_cli(
            every, sizes, options.output, options.merge, options.jobs, options.json
        )
    if model.STEP in asked:
        device = gpu.device()
        output = options.output or recorded_path(device.name, MODEL)
        ways = model.ways(device.multiprocessors, device.compute_capability >= (9, 0))
        splits.record(ways, model.others(device.multiprocessors), shapes, output)
        print(f"the model by which sgemm chooses is in {output}", file=sys.stderr)
    return status
