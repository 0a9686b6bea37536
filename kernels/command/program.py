"""The program of the command line: its commands, and what it says when one fails."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys

from anywarp import CompileError, LaunchError, __version__, gpu, ptx

from ..analysis.reference import CheckError
from ..measure import profiling
from ..records import MergeError
from . import choosing, looking, recording, targets, timing
from .words import EXIT_CODES

COMMANDS = (  # what adds each of them, in the order of the help
    *(looking.LIST, looking.CHECK, timing.BENCH, targets.SANITIZE, looking.TRACE, looking.RUN),
    *(choosing.PLAN, choosing.ATTEMPT, recording.PROFILE, timing.TUNING),
    recording.BITS_COMMAND,
)


def run(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status. Raises KeyboardInterrupt."""
    if sys.stdout is None:  # as after `>&-`
        print("error: standard output is closed: there is nowhere to print", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # no fault of a command if it cannot show an ü
        sys.stdout.reconfigure(errors="backslashreplace")
    options = argparse.Namespace()
    try:
        try:
            words = sys.argv[1:] if argv is None else argv
            _parser().parse_args(list(map(_as_number, words)), options)
            return int(options.run(options))
        finally:
            _flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        return 128 + 13  # as shells say of a program that SIGPIPE ended
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
    """What reads the words of the command line, with all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m kernels",
        description="The kernels of the book: list, check and time them.",
        epilog=EXIT_CODES,
    )
    text = f"sgemm-book, anywarp {__version__}"
    parser.add_argument("--version", action="version", version=text)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser


def _as_number(word: str) -> str:
    """The word, with a space before a number below zero: argparse takes -1.5e3 for an option."""
    try:
        float(word)
    except ValueError:
        return word
    return f" {word}" if word.startswith("-") else word


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
    """What an error says, with the option for the argument in Python; nothing of it where the
    command has no such option."""
    if "device" in options:
        return re.sub(r'\bdevice="(\w+)"', r"--device \1", str(error))
    return re.sub(r'[;:] [^;:.]*\bdevice="\w+"[^.]*', "", str(error))
