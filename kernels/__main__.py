"""`python -m kernels`: the command line, which `command.program` is."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status. Ctrl-C ends it quietly, also while it is loaded."""
    try:
        from .command.program import run

        return run(argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + 2  # as shells say of a program that SIGINT ended


if __name__ == "__main__":
    sys.exit(main())
