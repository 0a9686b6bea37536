"""Commands that look at steps: list, check, trace, run."""

from __future__ import annotations

import argparse
import hashlib
import json
import time

from anywarp import capability, choose_device, ptx

from ..analysis.reference import CheckError, inputs
from ..ladder.check import check
from ..ladder.product.layout import laid_out
from ..ladder.step import Step, steps
from ..measure import profiling
from ..records.table import table
from . import shapes
from .words import chosen, clear, command, followed, one_step, option, say_where, show, usage


def run_list(options: argparse.Namespace) -> int:
    """Print the steps, from their files."""
    rows, cells = [], []
    for step in steps():
        names = [launch.kernel for launch in step.file.launches]
        variants = [variant.label for variant in step.variants]
        details = [f"{name}={value}" for name, value in step.defines.items()]
        if len(names) > 1:
            details.append(f"launches {', '.join(names)}")
        details += [f"requires {text}" for text in step.requires]
        lines = step.title, ", ".join(details), *(f"variant {label}" for label in variants)
        cells.append((step.id, "\n".join(lines)))
        row = {x: getattr(step, x) for x in ("id", "number", "title", "defines", "block")}
        row |= {"launches": names, "variants": variants}
        row |= {x: getattr(step, x) for x in ("arguments", "requires", "alignment")}
        rows.append(row | {"compute_capability": capability.text(step.compute_capability)})
    show(options, rows, table(cells, "<<"))
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Print a report for each step; the exit status is 1 if one is wrong."""
    outcomes = []
    for step in followed(chosen(options), lambda step: step.label):
        say_where(step, options.device)
        try:
            report = check(step, options.device)
            cases = [case._asdict() | {"error_over_bound": ratio} for case, ratio in report.rows]
            text, outcome = repr(report), {"step": step.label, "ok": True, "cases": cases}
        except (CheckError, ptx.PTXError, ValueError) as error:  # not compiled, or no such launch
            text = f"{step.label} FAILED: {error}"
            outcome = {"step": step.label, "ok": False, "error": str(error)}
        outcomes.append(outcome)
        if not options.json:
            clear()
            print(f"{text}\n")
    if options.json:
        print(json.dumps(outcomes, indent=2))
    return 0 if all(outcome["ok"] for outcome in outcomes) else 1


def _product(options: argparse.Namespace, *also: Step) -> shapes.Shape:
    """The shape that was asked for; ends the program if it is none, or a step cannot do it."""
    with usage(options):
        shape = shapes.shape(options.shape)
    for step in (options.step, *also):
        if constraint := step.broken(*shape):
            options.parser.error(f"{step.label} requires {constraint}")
    return shape


def run_step(options: argparse.Namespace) -> int:
    """Print what was computed, and the interpreter's time; `bench` has the GPU's."""
    shape = _product(options, *options.also)
    rows = []
    for step in (options.step, *options.also):
        say_where(step, options.device)
        with usage(options):
            A, B = laid_out(*inputs(*shape)[:2], step.defines)
            needs = step.compute_capability, step.shared_mem
            where = choose_device(options.device, (A, B), *needs)
            for _ in range(options.times):
                begin = time.perf_counter()
                C = step(A, B, device=where)
                seconds = time.perf_counter() - begin
        row = {"step": step.label, "shape": shape, "where": where, "times": options.times}
        row["seconds"] = seconds if where == "interpreter" else None
        rows.append(row | {"sha256": hashlib.sha256(C.tobytes()).hexdigest()})
    cells = [("step", "M x N x K", "where", "seconds", "SHA-256 of C")]
    for row in rows:
        spent = "-" if row["seconds"] is None else f"{row['seconds']:.3g}"
        sides = " x ".join(map(str, shape))
        cells.append((row["step"], sides, row["where"], spent, row["sha256"]))
    show(options, rows, table(cells, "<<<><"))
    return 0


def run_trace(options: argparse.Namespace) -> int:
    """Print the accesses by line, and the counters."""
    shape = _product(options)
    with usage(options):
        traced = options.step.trace(*shape, launch=options.launch)
    title = profiling.label_of(options.step, options.launch)
    counts = (f"{count:15,}  {name}" for name, count in sorted(traced.counters.items()))
    text = [f"{title}, {' x '.join(map(str, shape))}", "", f"{traced}", "", *counts]
    show(options, traced.to_json(), "\n".join(text))
    return 0


LIST = command(run_list, "list", "show the steps and their tile sizes", "--json")
HARD = "run steps on hard cases against the float64 reference"
CHECK = command(run_check, "check", HARD, "steps", "--device", "--variants", "--json")
WHICH = f"of a step of several kernels, that one; default: {profiling.KERNEL}"
TRACE = command(
    run_trace,
    "trace",
    "count what a step does to memory, line by line",
    option("--launch", metavar="KERNEL", default=profiling.KERNEL, help=WHICH),
    "step",
    "shape",
    "--json",
)
ALSO = "then launch this one as often; may be given again"
RUN = command(
    run_step,
    "run",
    "launch a step, for profilers and debuggers to watch",
    option("--times", type=shapes.size, default=1, metavar="N", help="launches; default: 1"),
    option("--also", type=one_step, action="append", default=[], metavar="STEP", help=ALSO),
    "--device",
    "step",
    "shape",
    "--json",
)
