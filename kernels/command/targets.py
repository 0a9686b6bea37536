"""The command `python -m kernels sanitize`: steps of the ladder, or any CUDA file."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import Finding, Kernel

from ..ladder.step import Step, assignments, step, steps, with_variants
from . import shapes as command_line
from .words import STEPS, clear, command, followed, json_alone, option, usage

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "half": np.float16,
    "int": np.int32,
    "unsigned": np.uint32,
    "char": np.int8,
    "short": np.int16,
    "long": np.int64,
}
ARGUMENT = re.compile(r"(?:(out|zero):)?(" + "|".join(TYPES) + r")\[(\d+(?:,\d+)*)\]")
USAGE = (
    """\
A number among --args is passed as it is: 64, 1.5. An array is float[1024] or float[64,32], with
random contents (floats from -1 to 1, whole numbers from 0 to 9); zero:float[1024] is full of
zeros, and reading out:float[1024] before the kernel has written it is a finding.
Types: """
    + ", ".join(TYPES)
    + ".\n"
)


Run = tuple[str, Callable[[], Sequence[Finding]]]  # a title, and what is to be run


def run_cli(options: argparse.Namespace) -> int:
    """The exit status: 0 without findings, 1 with some."""
    rows = []
    with usage(options):
        for title, sanitize in followed(list(_plan(options)), lambda run: run[0]):
            with json_alone(options):  # kernels print too
                findings = sanitize()
            rows.append({"target": title, "findings": list(map(asdict, findings))})
            if not options.json:
                clear()
                print(f"{title}: {len(findings) or 'no'} finding{'s' * (len(findings) != 1)}")
                for finding in findings:
                    print(f"  {finding}")
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(any(row["findings"] for row in rows))


def _plan(options: argparse.Namespace) -> Iterator[Run]:
    """Yield (title, function that returns findings). Raises ValueError for wrong use."""
    targets = options.targets
    if any(t.endswith(".cu") for t in targets):
        yield _file(options)
        return
    of_file = options.kernel, options.grid, options.block, options.args, options.shared_mem
    if any(value is not None for value in of_file):
        flags = "--kernel, --grid, --block, --args and --shared-mem"
        raise ValueError(f"{flags} go with a file FILE.cu")
    names, shape = command_line.split(targets, _names_a_step)
    defines = assignments(options.defines)
    named = tuple(step(name) for name in names) or steps()
    for variant in with_variants(named) if options.variants else named:
        changed = variant.define(**defines)
        for M, N, K in [shape] if shape else shapes(changed):
            title = f"{changed.label} M = {M}, N = {N}, K = {K}"
            yield title, partial(changed.sanitize, M, N, K)


def _names_a_step(word: str) -> bool:
    """Whether a word names a step."""
    try:
        step(word)
    except ValueError:
        return False
    return True


def shapes(step: Step) -> list[tuple[int, int, int]]:
    """Shapes to try: whole tiles, and primes if the step can do them."""
    tiles = [step.defines.get(name, 8) for name in ("BM", "BN", "BK")]
    candidates = [(2 * tiles[0], 2 * tiles[1], 4 * tiles[2]), (67, 71, 73)]
    return [shape for shape in candidates if step.broken(*shape) is None]


def _file(options: argparse.Namespace) -> Run:
    """The run of a file FILE.cu. Raises ValueError for wrong use."""
    if len(options.targets) != 1:
        raise ValueError("one file at a time, and no steps beside it")
    if options.variants:
        raise ValueError("--variants goes with steps, not with a file FILE.cu")
    needed = ("kernel", "grid", "block", "args")
    if missing := [flag for flag in needed if getattr(options, flag) is None]:
        raise ValueError("a file needs " + ", ".join(f"--{flag}" for flag in missing))
    path = Path(options.targets[0])
    stream = np.random.RandomState(0)
    parsed = [parse_argument(text, stream) for text in options.args]
    args = [value for value, _ in parsed]
    uninitialised = [n for n, (_, unwritten) in enumerate(parsed) if unwritten]
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not in UTF-8: {error}") from None
    defines = [f"-D{text}" for text in options.defines]
    kernel = Kernel(source, options.kernel, defines, filename=path.name)
    return f"{path.name} {options.kernel}", lambda: kernel.sanitize(
        options.grid, options.block, args, options.shared_mem or 0, uninitialised
    )


def parse_argument(text: str, stream: np.random.RandomState) -> tuple[Any, bool]:
    """A number or an array, and whether it counts as not written yet. Raises ValueError."""
    match = ARGUMENT.fullmatch(text.replace(" ", ""))
    if match is None:
        for kind in (int, float):
            try:
                return kind(text), False
            except ValueError:
                pass
        raise ValueError(
            f"--args: {text!r} is neither a number nor an array such as "
            "float[1024] or out:float[64,64]"
        )
    dtype, shape = TYPES[match[2]], tuple(map(int, match[3].split(",")))
    if match[1]:
        return np.zeros(shape, dtype), match[1] == "out"
    if np.dtype(dtype).kind == "f":
        return stream.uniform(-1, 1, shape).astype(dtype), False
    return stream.randint(0, 10, shape).astype(dtype), False


TARGETS = f"steps ({STEPS}; all if none), then M N K if not chosen for you; or a file FILE.cu"
MACROS = dict(action="append", default=[], metavar="NAME[=VALUE]", dest="defines")
DYNAMIC = "of FILE.cu: of each block; default: 0"
SANITIZE = command(
    run_cli,
    "sanitize",
    "find races, stray accesses and barrier faults",
    option("targets", nargs="*", metavar="TARGET", help=TARGETS),
    "--variants",
    option("--kernel", metavar="NAME", help="of FILE.cu: its name, or gemm<4, 8>"),
    option("--grid", nargs="+", type=int, metavar="N", help="of FILE.cu: blocks"),
    option("--block", nargs="+", type=int, metavar="N", help="of FILE.cu: threads"),
    option("--args", nargs="*", metavar="ARG", help="of FILE.cu: see below"),
    option("-D", help="define a macro, also in steps", **MACROS),
    option("--shared-mem", type=int, metavar="BYTES", help=DYNAMIC),
    "--json",
    notes=USAGE,
)
