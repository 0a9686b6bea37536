"""The command line: python -m kernels list, check, run, trace, sanitize, bench, tune, profile,
bits, experiments, errors, parallel."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import ptx, shapes, targets
from .ladder import model
from .ladder.check import check, digest
from .ladder.layout import laid_out
from .ladder.reference import CheckError, inputs
from .ladder.space import SPACES, candidates
from .ladder.step import Step, step, steps, with_variants
from .measure import bench, errors, experiments, floors, profiling, splits, tune
from .measure.records import MODEL, MergeError, recorded_path, write
from .parallel import record as parallel
from .run import capability, gpu
from .run.build import CompileError
from .run.kernel import DEVICES

BITS = Path(__file__).parent / "results" / "nvidia_h200" / "bits.json"
BITS_SHAPES = ((64, 64, 64), (256, 256, 256), (128, 384, 256), (67, 71, 73))

EXIT_CODES = (
    "exit status: 0 all well, 1 a result is wrong or a fault is found, "
    "2 the command could not be carried out"
)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        return options.run(options)
    except (
        CompileError,
        ImportError,
        OSError,
        gpu.NoGPU,
        ptx.PTXError,
        profiling.ProfileError,
        MergeError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels",
        description="The kernels of the book: list, check and time them.",
        epilog=EXIT_CODES,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(run, name: str, text: str, takes_steps: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, epilog=EXIT_CODES)
        added.set_defaults(run=run)
        if takes_steps:
            added.add_argument(
                "steps",
                nargs="*",
                type=_step,
                metavar="STEP",
                help="03_coalesced, 03, coalesced or '03 BM=8'; all if none",
            )
        return added

    listing = command(_list, "list", "show the steps and their tile sizes", takes_steps=False)
    checking = command(_check, "check", "run steps on hard cases against the float64 reference")
    checking.add_argument(
        "--device", choices=DEVICES, default="auto", help="default: the GPU if there is one"
    )
    timing = command(_bench, "bench", "time steps on the GPU, with cuBLAS beside them")
    timing.add_argument(
        "--sizes",
        nargs="+",
        type=_shape,
        metavar="SHAPE",
        help="N for M = N = K, or 1000x1003x997; default: " + " ".join(map(str, bench.SIZES)),
    )
    timing.add_argument("--output", type=Path, metavar="PATH", help="save the records here")
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
    timing.set_defaults(parser=timing)
    sanitizing = command(
        targets.run_cli,
        "sanitize",
        "find races, stray accesses and barrier faults",
        takes_steps=False,
    )
    targets.add_arguments(sanitizing)
    tracing = command(
        _trace, "trace", "count what a step does to memory, line by line", takes_steps=False
    )
    tracing.add_argument(
        "--launch",
        metavar="KERNEL",
        default=profiling.KERNEL,
        help=f"of a step of several kernels, that one; default: {profiling.KERNEL}",
    )
    running = command(
        _run, "run", "launch a step, for profilers and debuggers to watch", takes_steps=False
    )
    running.add_argument("--times", type=_size, default=1, metavar="N", help="launches; default: 1")
    running.add_argument(
        "--also",
        type=_step,
        action="append",
        default=[],
        metavar="STEP",
        help="then launch this one as often; may be given again",
    )
    running.add_argument(
        "--device", choices=DEVICES, default="auto", help="default: the GPU if there is one"
    )
    for one in (tracing, running):
        one.add_argument("step", type=_step, metavar="STEP", help="03_coalesced, 03 or '03 BM=8'")
        one.add_argument("shape", nargs="+", metavar="SHAPE", help=shapes.FORMS)
        one.set_defaults(parser=one)
    measuring = command(
        _profile, "profile", "count the same on the GPU, with Nsight Compute's ncu, and save it"
    )
    measuring.add_argument(
        "--stalls",
        action="store_true",
        help="record what warps wait for and how busy the GPU is, not what a trace counts",
    )
    measuring.add_argument(
        "--size",
        type=_cube,
        metavar="N",
        help="of M = N = K; default: 256, and 4096 with --stalls",
    )
    measuring.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="save it here; default: kernels/results/GPU/counters.json, or stalls.json",
    )
    for one in (checking, timing, measuring):
        one.add_argument(
            "--variants", action="store_true", help="also the variants that their files declare"
        )
    for one in (listing, checking, tracing, sanitizing, timing, measuring):
        one.add_argument("--json", action="store_true", help="print JSON, for programs")
    deciding = command(
        _experiments, "experiments", "time the edits of steps that decide a question", False
    )
    deciding.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(experiments.TABLE)}; all if none"
    )
    deciding.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="save the records here; default: kernels/results/GPU/experiments.json",
    )
    deciding.add_argument(
        "--stalls", action="store_true", help="record what warps wait for at 4096 instead"
    )
    deciding.add_argument(
        "--launch", type=_cube, metavar="N", help="launch each step once, for a profiler to watch"
    )
    deciding.set_defaults(parser=deciding)
    searching = command(
        _tune,
        "tune",
        "search the tiles of a step on the GPU, and fit the model by which sgemm chooses",
        takes_steps=False,
    )
    searching.add_argument(
        "steps",
        nargs="*",
        metavar="STEP",
        help=f"of {', '.join(SPACES)} and {model.STEP}, of which sgemm chooses; all if none",
    )
    searching.add_argument(
        "--sizes",
        nargs="+",
        type=_shape,
        metavar="SHAPE",
        help="N for M = N = K, or 1000x1003x997; default: " + " ".join(map(str, tune.SIZES)),
    )
    searching.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="save what was found here; default: kernels/results/GPU/tune.json",
    )
    searching.add_argument(
        "--merge", action="store_true", help="keep what is there of other steps and shapes"
    )
    searching.add_argument(
        "--jobs", type=_size, metavar="N", help="compilers side by side; default: one for each core"
    )
    searching.add_argument("--json", action="store_true", help="print JSON, for programs")
    searching.set_defaults(parser=searching)
    wrong = command(
        _errors, "errors", "measure how wrong steps and cuBLAS are on the GPU, and save it"
    )
    wrong.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="save it here; default: kernels/results/GPU/errors.json",
    )
    together = command(
        _parallel,
        "parallel",
        "time products over all GPUs of this machine, and on one products from the host's memory",
    )
    together.add_argument(
        "--sizes",
        nargs="+",
        type=_cube,
        default=parallel.SIZES,
        metavar="N",
        help="of M = N = K; default: " + " ".join(map(str, parallel.SIZES)),
    )
    together.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="save the records here; default: kernels/results/GPU/parallel.json",
    )
    bits = command(
        _bits, "bits", "record the SHA-256 of results on the GPU, for tests to compare with"
    )
    bits.add_argument("--output", type=Path, default=BITS, metavar="PATH", help=f"default: {BITS}")
    return parser


def _step(text: str) -> Step:
    try:
        return step(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shape(text: str) -> int | shapes.Shape:
    try:
        found = shapes.shape(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return found if "x" in text else found[0]


def _size(text: str) -> int:
    try:
        return shapes.size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _cube(text: str) -> int:
    found = _shape(text)
    sides = {found} if isinstance(found, int) else set(found)
    if len(sides) > 1:
        raise argparse.ArgumentTypeError(f"counters are recorded for M = N = K, not {text!r}")
    return sides.pop()


def _chosen(options: argparse.Namespace) -> tuple[Step, ...]:
    chosen = tuple(options.steps) or steps()
    return with_variants(chosen) if options.variants else chosen


def _list(options: argparse.Namespace) -> int:
    if options.json:
        rows = [
            {
                "id": one.id,
                "number": one.number,
                "title": one.title,
                "defines": one.defines,
                "block": one.block,
                "launches": [launch.kernel for launch in one.file.launches],
                "arguments": one.arguments,
                "requires": one.requires,
                "alignment": one.alignment,
                "compute_capability": capability.text(one.compute_capability),
                "variants": [variant.label for variant in one.variants],
            }
            for one in steps()
        ]
        print(json.dumps(rows, indent=2))
        return 0
    width = max(len(one.id) for one in steps())
    for one in steps():
        print(f"{one.id:{width}}  {one.title}")
        details = [f"{name}={value}" for name, value in one.defines.items()]
        if len(one.file.launches) > 1:
            details.append(f"launches {', '.join(launch.kernel for launch in one.file.launches)}")
        details += [f"requires {text}" for text in one.requires]
        print(f"{'':{width}}  {', '.join(details)}")
        for variant in one.variants:
            print(f"{'':{width}}  variant {variant.label}")
    return 0


def _check(options: argparse.Namespace) -> int:
    outcomes = []
    for one in _chosen(options):
        try:
            report = check(one, options.device)
            cases = [case._asdict() | {"error_over_bound": ratio} for case, ratio in report.rows]
            outcome = {"step": one.label, "ok": True, "cases": cases}
        except (CheckError, CompileError, ptx.PTXError) as error:
            report = f"{one.label} FAILED: {error}"
            outcome = {"step": one.label, "ok": False, "error": str(error)}
        outcomes.append(outcome)
        if not options.json:
            print(f"{report}\n")
    if options.json:
        print(json.dumps(outcomes, indent=2))
    return 0 if all(outcome["ok"] for outcome in outcomes) else 1


def _bench(options: argparse.Namespace) -> int:
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
        return floors.run_cli(_chosen(options), options.recorded, *saving)
    return bench.run_cli(_chosen(options), options.sizes or bench.SIZES, *saving)


def _product(options: argparse.Namespace) -> shapes.Shape:
    """The shape that was asked for; ends the program if it is none, or the step cannot do it."""
    try:
        shape = shapes.shape(options.shape)
    except ValueError as error:
        options.parser.error(str(error))
    if constraint := options.step.broken(*shape):
        options.parser.error(f"{options.step.label} requires {constraint}")
    return shape


def _run(options: argparse.Namespace) -> int:
    shape = _product(options)
    for other in options.also:
        if constraint := other.broken(*shape):
            options.parser.error(f"{other.label} requires {constraint}")
    for one in (options.step, *options.also):
        A, B = laid_out(*inputs(*shape)[:2], one.defines)
        for _ in range(options.times):
            one(A, B, device=options.device)
    return 0


def _trace(options: argparse.Namespace) -> int:
    shape = _product(options)
    try:
        found = options.step.trace(*shape, launch=options.launch)
    except ValueError as error:
        options.parser.error(str(error))
    if options.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    title = profiling.label_of(options.step, options.launch)
    print(f"{title}, {' x '.join(map(str, shape))}\n\n{found}\n")
    for name, count in sorted(found.counters.items()):
        print(f"{count:15,}  {name}")
    return 0


def _profile(options: argparse.Namespace) -> int:
    chosen = _chosen(options)
    record, usual = (profiling.stalls, 4096) if options.stalls else (profiling.profile, 256)
    size = options.size or usual
    found = record(chosen, size, options.output)
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    names = (
        profiling.label_of(one, launch.kernel)
        for one in chosen
        for launch in one.launches(size, size, size)
    )
    for label in names:
        print(f"{label}, {size}")
        for name, count in sorted(found["steps"][label].items()):
            print(f"{count:15,}  {name}")
    return 0


def _experiments(options: argparse.Namespace) -> int:
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


def _tune(options: argparse.Namespace) -> int:
    gpu.require()
    shapes = [(one,) * 3 if isinstance(one, int) else one for one in options.sizes or ()]
    try:
        asked = [step(name).id for name in options.steps] or [*SPACES, model.STEP]
        every = [one for name in asked if name != model.STEP for one in candidates(name)]
    except ValueError as error:
        options.parser.error(str(error))
    if every and model.STEP in asked and options.output:
        options.parser.error(f"{model.STEP} has a record of its own: give --output to one of both")
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
        splits.record(ways, shapes, output)
        print(f"the model by which sgemm chooses is in {output}", file=sys.stderr)
    return status


def _errors(options: argparse.Namespace) -> int:
    chosen = options.steps or [step(label) for label in errors.LABELS]
    found = errors.record(chosen, step(errors.CHAINED), options.output)
    for row in found["cases"]:
        worst = ", ".join(f"{label} {error:.3g}" for label, error in row["errors"].items())
        print(f"{row['kind']}, {'x'.join(map(str, row['shape']))}: {worst}")
    return 0


def _parallel(options: argparse.Namespace) -> int:
    try:
        return parallel.run_cli(options.steps or parallel.usual(), options.sizes, options.output)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _bits(options: argparse.Namespace) -> int:
    gpu.require()
    recorded = json.loads(options.output.read_text()) if options.output.exists() else {}
    for one in options.steps or steps():
        recorded[one.label] = {
            "x".join(map(str, shape)): digest(one, *shape, device="gpu")
            for shape in BITS_SHAPES
            if one.broken(*shape) is None
        }
        print(f"{one.label}: {len(recorded[one.label])} shapes")
    write(options.output, json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    print(f"saved in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
