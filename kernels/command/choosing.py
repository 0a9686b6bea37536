"""Commands that say which step is the right one: plan, attempt."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from anywarp.testing import GOALS

from ..ladder.choose import plan
from . import shapes
from .words import command, option, show, usage


def run_plan(options: argparse.Namespace) -> int:
    """Print the step; nothing is computed."""
    with usage(options):
        M, N, K = shapes.shape(options.shape)
        A, B = np.empty((M, K), np.float32), np.empty((K, N), np.float32)  # never read
        choice = plan(A, B, device=options.device, tensor_cores=options.tensor_cores)
    show(options, {**vars(choice), "step": choice.step.label}, choice)
    return 0


def run_attempt(options: argparse.Namespace) -> int:
    """Print the table; the exit status is 1 if a demand is missed."""
    with usage(options):
        goals = dict(map(_goal, options.goals))
        shape = shapes.shape(options.shape) if options.shape else None
        step = options.step
        if options.source:
            step = step.edit(source=options.source.read_text(encoding="utf-8"))
        result = step.attempt(shape, **goals)
    rows = [row._asdict() for row in result.rows]
    show(options, {"step": result.label, "rows": rows}, result)
    return 0 if result else 1


def _goal(text: str) -> tuple[str, float | tuple[float, float]]:
    """The name and the most, or (least, most), of a goal: registers=64. Raises ValueError."""
    name, _, value = text.partition("=")
    least, colon, most = value.rpartition(":")
    try:
        return name, (float(least), float(most)) if colon else float(most)
    except ValueError:
        raise ValueError(f"a goal is GOAL=MOST or GOAL=LEAST:MOST, not {text!r}") from None


PLAN = command(
    run_plan,
    "plan",
    "show which step sgemm takes for a shape",
    "shape",
    option("--tensor-cores", action="store_true", help="of steps that use tensor cores too"),
    "--device",
    "--json",
)
ALLOWED = f"what is allowed, or GOAL=LEAST:MOST; goals are {', '.join(GOALS)}"
ATTEMPT = command(
    run_attempt,
    "attempt",
    "check, sanitize and weigh a step, or a file of your own in its place",
    "step",
    option("--goals", nargs="+", default=[], metavar="GOAL=MOST", help=ALLOWED),
    option("--source", type=Path, metavar="FILE.cu", help="in place of the step's own"),
    option("--shape", metavar="SHAPE", help="to be traced; MxNxK, or N for all three"),
    "--json",
)
