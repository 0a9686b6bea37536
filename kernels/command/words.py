"""What words on the command line stand for, and what commands have in common."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

from anywarp import DEVICES, CompileError, capability, gpu
from anywarp.progress import watched

from ..ladder.step import Step, step, steps, with_variants
from . import shapes

EXIT_CODES = (
    "exit status: 0 all well, 1 a result is wrong or a fault is found, "
    "2 the command could not be carried out, 130 interrupted, 141 the reader of its output is gone"
)
STEPS = "03_coalesced, 03, coalesced or '03 BM=8'"
SIDES = "N for M = N = K, or 1000x1003x997"
Commands = argparse._SubParsersAction  # a class that argparse gives no other name
Option = tuple[str, dict[str, Any]]  # of a command: what `add_argument` takes
Item = TypeVar("Item")


def json_alone(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """A context in which what is printed goes to stderr, if JSON is to stand alone on stdout."""
    return redirect_stdout(sys.stderr) if options.json else nullcontext()


def show(options: argparse.Namespace, data: Any, text: object) -> None:
    """Print the data as JSON, if that is asked for, or else the text."""
    print(json.dumps(data, indent=2) if options.json else text)


def new_file(text: str) -> Path:
    """Where something can be saved: found out before hours are spent on what is to be saved."""
    path = Path(text)
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder: name a file in it")
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{folder} is no folder, so {text} cannot be saved")
    if not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"nothing can be saved in {folder}: it is read-only")
    return path


def one_step(text: str) -> Step:
    """The step of a label."""
    try:
        return step(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size_or_shape(text: str) -> int | shapes.Shape:
    """A shape, or the one number that stands for all of its sides."""
    shape = shapes.shape(text)
    return shape if "x" in text else shape[0]


def cube(text: str) -> int:
    """N of a shape M = N = K; else raises ArgumentTypeError."""
    asked = size_or_shape(text)
    sides = {asked} if isinstance(asked, int) else set(asked)
    if len(sides) > 1:
        raise argparse.ArgumentTypeError(f"counters are recorded for M = N = K, not {text!r}")
    return sides.pop()


def lacking(step: Step) -> str | None:
    """Why the GPU of this machine cannot run a step; None if it can, or if there is none."""
    if not gpu.available():
        return None
    return capability.lacking(step.compute_capability, step.shared_mem, gpu.device())


def able(asked: Sequence[Step]) -> list[Step]:
    """Those that the GPU of this machine can run; of the others, it is said why not. Raises NoGPU
    where none of them is left."""
    reasons = {candidate: lacking(candidate) for candidate in asked}
    for candidate, reason in reasons.items():
        if reason:
            print(f"{candidate.label} is left out: it {reason}", file=sys.stderr)
    left = [candidate for candidate, reason in reasons.items() if not reason]
    if not left:
        raise gpu.NoGPU(f"the {gpu.device().name} can run none of these steps")
    return left


def say_where(step: Step, device: str) -> None:
    """Say so if a step that is to run on the GPU if it can is interpreted instead."""
    if device == "auto" and (reason := lacking(step)):
        print(f"{step.label} is interpreted: it {reason}", file=sys.stderr)


@contextmanager
def usage(options: argparse.Namespace) -> Iterator[None]:
    """Ends the program if there is nothing such as was asked for."""
    try:
        yield
    except CompileError:  # has lines of its own, and a ValueError is what it is
        raise
    except (TypeError, ValueError, argparse.ArgumentTypeError) as error:
        options.parser.error(str(error))


def chosen(options: argparse.Namespace) -> tuple[Step, ...]:
    """The steps that were named, or all; with their variants if asked for."""
    named = tuple(options.steps) or steps()
    return with_variants(named) if options.variants else named


def followed(items: Sequence[Item], name: Callable[[Item], str]) -> Iterator[Item]:
    """The items, with a line on stderr, where somebody looks on, that says which of how many it is
    the turn of."""
    shown = watched() and len(items) > 1
    for number, item in enumerate(items, 1):
        if shown:
            print(f"\r[{number} of {len(items)}] {name(item)}\033[K", end="", file=sys.stderr)
        yield item
    if shown:
        clear()


def clear() -> None:
    """Take the line of `followed` away, so that something can be printed."""
    if watched():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------- declaring commands

OPTIONS: dict[str, dict[str, Any]] = {  # that several commands have
    "steps": dict(nargs="*", type=one_step, metavar="STEP", help=f"{STEPS}; all if none"),
    "step": dict(type=one_step, metavar="STEP", help="03_coalesced, 03 or '03 BM=8'"),
    "shape": dict(nargs="+", metavar="SHAPE", help=shapes.FORMS),
    "--sizes": dict(nargs="+", type=size_or_shape, metavar="SHAPE"),
    "--output": dict(type=new_file, metavar="PATH"),
    "--device": dict(choices=DEVICES, default="auto", help="default: the GPU if there is one"),
    "--variants": dict(action="store_true", help="also the variants that their files declare"),
    "--json": dict(action="store_true", help="print JSON, for programs"),
}


def option(name: str, **more: Any) -> Option:
    """An option or argument of a command: what OPTIONS says of it, and more or other than that."""
    return name, OPTIONS.get(name, {}) | more


def command(
    run: Callable[[argparse.Namespace], int],
    name: str,
    text: str,
    *options: str | Option,
    notes: str = "",
) -> Callable[[Commands[argparse.ArgumentParser]], None]:
    """A function that adds a command to those of the program. `options` are names in OPTIONS, or
    what `option` returns; `notes` stand below the help."""

    def add(commands: Commands[argparse.ArgumentParser]) -> None:
        parser = commands.add_parser(name, help=text, description=text, epilog=EXIT_CODES)
        parser.set_defaults(run=run, parser=parser)
        if notes:
            parser.formatter_class = argparse.RawDescriptionHelpFormatter
            parser.epilog = f"{notes}\n{EXIT_CODES}"
        for declared in options:
            flag, words = option(declared) if isinstance(declared, str) else declared
            parser.add_argument(flag, **words)

    return add
