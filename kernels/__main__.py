"""The command line: python -m kernels list, check, run, trace, sanitize, bench, tune, profile,
bits, experiments, errors."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys

from anywarp import gpu, ptx
from anywarp.build import CompileError
from anywarp.limits import LaunchError

from .analysis.reference import CheckError
from .command import looking, recording, targets, timing
from .command.words import EXIT_CODES, adder
from .measure import profiling
from .records import MergeError

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
    recording.add_bits,
)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # no fault of a command if it cannot show an ü
        sys.stdout.reconfigure(errors="backslashreplace")
    options = argparse.Namespace()
    try:
        try:
            _parser().parse_args(argv, options)
            return options.run(options)
        finally:
            _flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        return 128 + 13  # as shells say of a program that SIGPIPE ended
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + 2  # and of one that SIGINT ended
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except MemoryError as error:
        text = "error: this takes more memory than there is: give a smaller shape"
        print(text + (f" ({error})" if str(error) else ""), file=sys.stderr)
        return 2
    except (
        CompileError,
        ImportError,
        OSError,
        gpu.NoGPU,
        LaunchError,
        ptx.PTXError,
        profiling.ProfileError,
        MergeError,
    ) as error:
        print(f"error: {_advice(error, options)}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kernels",
        description="The kernels of the book: list, check and time them.",
        epilog=EXIT_CODES,
    )
    command = adder(parser.add_subparsers(required=True, metavar="COMMAND"))
    for add in COMMANDS:
        add(command)
    return parser


def _flush() -> None:
    """Write out what was printed: here, where it is handled if that fails. What cannot be written
    is dropped then, or the interpreter would try again at its exit, and complain."""
    try:
        print(end="", flush=True)
    except OSError:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise


def _advice(error: Exception, options: argparse.Namespace) -> str:
    """What an error says, with the option of a command that has it for the argument in Python."""
    text = str(error)
    return re.sub(r'\bdevice="(\w+)"', r"--device \1", text) if "device" in options else text


if __name__ == "__main__":
    sys.exit(main())
