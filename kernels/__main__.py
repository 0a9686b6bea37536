"""The command line: python -m kernels list, check, run, trace, sanitize, bench, tune, profile,
bits, experiments, errors, parallel."""

from __future__ import annotations

import argparse
import sys

from . import ptx
from .command import looking, recording, targets, timing
from .command.words import EXIT_CODES, adder
from .measure import profiling
from .measure.records import MergeError
from .run import gpu
from .run.build import CompileError

COMMANDS = (  # what adds each of them, in the order of the help
    looking.add_list,
    looking.add_check,
    timing.add_bench,
    targets.add_sanitize,
    looking.add_trace,
    looking.add_run,
    recording.add_profile,
    timing.add_experiments,
    timing.add_tune,
    recording.add_errors,
    timing.add_parallel,
    recording.add_bits,
)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m kernels",
        description="The kernels of the book: list, check and time them.",
        epilog=EXIT_CODES,
    )
    command = adder(parser.add_subparsers(required=True, metavar="COMMAND"))
    for add in COMMANDS:
        add(command)
    options = parser.parse_args(argv)
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


if __name__ == "__main__":
    sys.exit(main())
