"""Commands that look at steps: list, check, trace, run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

from anywarp import capability, ptx
from anywarp.build import CompileError
from anywarp.kernel import DEVICES

from ..analysis.reference import CheckError, inputs
from ..ladder.check.check import check
from ..ladder.product.layout import laid_out
from ..ladder.step import steps
from ..measure import profiling
from . import shapes
from .words import Command, add_json, add_variants, chosen, one_step, say_where, size


def add_list(command: Command) -> None:
    listing = command(run_list, "list", "show the steps and their tile sizes", takes_steps=False)
    add_json(listing)


def add_check(command: Command) -> None:
    text = "run steps on hard cases against the float64 reference"
    checking = command(run_check, "check", text)
    _add_device(checking)
    add_variants(checking)
    add_json(checking)


def add_trace(command: Command) -> None:
    text = "count what a step does to memory, line by line"
    tracing = command(run_trace, "trace", text, takes_steps=False)
    tracing.add_argument(
        "--launch",
        metavar="KERNEL",
        default=profiling.KERNEL,
        help=f"of a step of several kernels, that one; default: {profiling.KERNEL}",
    )
    _add_product(tracing)
    add_json(tracing)


def add_run(command: Command) -> None:
    text = "launch a step, for profilers and debuggers to watch"
    running = command(run_step, "run", text, takes_steps=False)
    running.add_argument("--times", type=size, default=1, metavar="N", help="launches; default: 1")
    running.add_argument(
        "--also",
        type=one_step,
        action="append",
        default=[],
        metavar="STEP",
        help="then launch this one as often; may be given again",
    )
    _add_device(running)
    _add_product(running)


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=DEVICES, default="auto", help="default: the GPU if there is one"
    )


def _add_product(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", type=one_step, metavar="STEP", help="03_coalesced, 03 or '03 BM=8'")
    parser.add_argument("shape", nargs="+", metavar="SHAPE", help=shapes.FORMS)


def run_list(options: argparse.Namespace) -> int:
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


def run_check(options: argparse.Namespace) -> int:
    outcomes = []
    for one in chosen(options):
        say_where(one, options.device)
        try:
            report = check(one, options.device)
            cases = [case._asdict() | {"error_over_bound": ratio} for case, ratio in report.rows]
            outcome = {"step": one.label, "ok": True, "cases": cases}
        except (CheckError, ptx.PTXError, ValueError) as error:  # not compiled, or no such launch
            report = f"{one.label} FAILED: {error}"
            outcome = {"step": one.label, "ok": False, "error": str(error)}
        outcomes.append(outcome)
        if not options.json:
            print(f"{report}\n")
    if options.json:
        print(json.dumps(outcomes, indent=2))
    return 0 if all(outcome["ok"] for outcome in outcomes) else 1


def _product(options: argparse.Namespace) -> shapes.Shape:
    """The shape that was asked for; ends the program if it is none, or the step cannot do it."""
    try:
        shape = shapes.shape(options.shape)
    except ValueError as error:
        options.parser.error(str(error))
    if constraint := options.step.broken(*shape):
        options.parser.error(f"{options.step.label} requires {constraint}")
    return shape


@contextmanager
def _usage(options: argparse.Namespace) -> Iterator[None]:
    """Ends the program if there is no launch such as was asked for."""
    try:
        yield
    except CompileError:  # has lines of its own, and a ValueError is what it is
        raise
    except ValueError as error:
        options.parser.error(str(error))


def run_step(options: argparse.Namespace) -> int:
    shape = _product(options)
    for other in options.also:
        if constraint := other.broken(*shape):
            options.parser.error(f"{other.label} requires {constraint}")
    for one in (options.step, *options.also):
        say_where(one, options.device)
        with _usage(options):
            A, B = laid_out(*inputs(*shape)[:2], one.defines)
            for _ in range(options.times):
                one(A, B, device=options.device)
    return 0


def run_trace(options: argparse.Namespace) -> int:
    shape = _product(options)
    with _usage(options):
        found = options.step.trace(*shape, launch=options.launch)
    if options.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    title = profiling.label_of(options.step, options.launch)
    print(f"{title}, {' x '.join(map(str, shape))}\n\n{found}\n")
    for name, count in sorted(found.counters.items()):
        print(f"{count:15,}  {name}")
    return 0
