"""What words on the command line stand for, and what commands have in common."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from anywarp import capability, gpu

from ..ladder.step import Step, step, steps, with_variants
from . import shapes

EXIT_CODES = (
    "exit status: 0 all well, 1 a result is wrong or a fault is found, "
    "2 the command could not be carried out, 130 interrupted, 141 the reader of its output is gone"
)
Command = Callable[..., argparse.ArgumentParser]  # see `adder`


def adder(commands: argparse._SubParsersAction) -> Command:
    """A function that adds a command to those of the program."""

    def command(run: Callable, name: str, text: str, takes_steps: bool = True):
        added = commands.add_parser(name, help=text, description=text, epilog=EXIT_CODES)
        added.set_defaults(run=run, parser=added)
        if takes_steps:
            added.add_argument(
                "steps",
                nargs="*",
                type=one_step,
                metavar="STEP",
                help="03_coalesced, 03, coalesced or '03 BM=8'; all if none",
            )
        return added

    return command


def add_variants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variants", action="store_true", help="also the variants that their files declare"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_output(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--output", type=new_file, metavar="PATH", help=text)


def new_file(text: str) -> Path:
    """Where something can be saved: found out before hours are spent on what is to be saved."""
    path = Path(text)
    folder = next(one for one in path.absolute().parents if one.exists())
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder: name a file in it")
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{folder} is no folder, so {text} cannot be saved")
    if not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"nothing can be saved in {folder}: it is read-only")
    return path


def add_sizes(parser: argparse.ArgumentParser, usual: tuple[int, ...]) -> None:
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=size_or_shape,
        metavar="SHAPE",
        help="N for M = N = K, or 1000x1003x997; default: " + " ".join(map(str, usual)),
    )


def one_step(text: str) -> Step:
    try:
        return step(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size_or_shape(text: str) -> int | shapes.Shape:
    try:
        found = shapes.shape(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return found if "x" in text else found[0]


def size(text: str) -> int:
    try:
        return shapes.size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def cube(text: str) -> int:
    found = size_or_shape(text)
    sides = {found} if isinstance(found, int) else set(found)
    if len(sides) > 1:
        raise argparse.ArgumentTypeError(f"counters are recorded for M = N = K, not {text!r}")
    return sides.pop()


def lacking(one: Step) -> str | None:
    """Why the GPU of this machine cannot run a step; None if it can, or if there is none."""
    if not gpu.available():
        return None
    return capability.lacking(one.compute_capability, one.shared_mem, gpu.device())


def able(asked: Sequence[Step]) -> list[Step]:
    """Those that the GPU of this machine can run; of the others, it is said why not. Raises NoGPU
    where none of them is left."""
    reasons = {one: lacking(one) for one in asked}
    for one, reason in reasons.items():
        if reason:
            print(f"{one.label} is left out: it {reason}", file=sys.stderr)
    found = [one for one, reason in reasons.items() if not reason]
    if not found:
        raise gpu.NoGPU(f"the {gpu.device().name} can run none of these steps")
    return found


def say_where(one: Step, device: str) -> None:
    """Say so if a step that is to run on the GPU if it can is interpreted instead."""
    if device == "auto" and (reason := lacking(one)):
        print(f"{one.label} is interpreted: it {reason}", file=sys.stderr)


def chosen(options: argparse.Namespace) -> tuple[Step, ...]:
    chosen = tuple(options.steps) or steps()
    return with_variants(chosen) if options.variants else chosen
