"""Tile sizes of every kind: each is refused in words, or right.

`test_defines.py` tries a few; `python -m tests.kernels.ladder.sweep --seconds 600 [STEP …]`
tries each value of each define alone, then random ones together, and prints what is neither refused
nor right.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from itertools import cycle

from anywarp.build import CompileError
from kernels.ladder.check import check
from kernels.ladder.step import Step, step, steps

TILES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
FLAGS = (0, 1, 2, -1)
VALUES = {
    **dict.fromkeys(("BM", "BN", "WM", "WN"), TILES),
    "BK": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128),
    **dict.fromkeys(("TM", "TN"), (1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 64)),
    "PAD": (-4, -1, 0, 1, 2, 3, 4, 5, 8, 16, 20, 100, 1000),
    "BLOCKS": (-1, 0, 1, 2, 3, 4, 8, 33),
    "BUFFERS": (-1, 0, 1, 2, 3, 4, 9),
    "SPLITS": (-1, 0, 1, 2, 3, 4, 8, 9, 16),
    "SLICES": (-1, 0, 1, 2, 3, 4, 8),
    "STREAM": (-1, 0, 1, 3, 7, 132),
    "UNROLL": (-1, 0, 1, 2, 3, 4, 5, 8, 16),
    "SWIZZLE": (*FLAGS, 16, 32, 64, 128, 256),
    "PRODUCER": (-1, 0, 1, 2, 4, 8),
    "GRID": (-1, 0, 1, 2, 3, 132),
    **dict.fromkeys(("QUADS", "SPLIT", "CLUSTER", "STRIDED", "TRANSPOSED"), FLAGS),
    **dict.fromkeys(("PING_PONG", "TMA_STORE"), FLAGS),
    **dict.fromkeys(("UNSIGNED", "HOIST", "SHIFTED", "TRANS_A", "TRANS_B", "SWAP_AB"), FLAGS),
    "STAGES": (-1, 0, 1, 2, 3, 4, 5, 8),
    "STRIP": (-16, 0, 8, 16, 32, 48, 64, 128),
    "KIND": (-1, 0, 1, 2, 3),
    "PARTS": (-1, 0, 1, 2, 3, 4),
    "CHAIN": (-1, 0, 1, 8, 16, 24, 32, 64),
    "FOLD": (-16, 0, 16, 24, 32, 100, 512),
    "LEAST_K": (-1, 0, 1, 3, 8, 100),
    "PACKERS": (-1, 0, 32, 100, 256, 512, 2048),
    **dict.fromkeys(("ALL", "EXACT"), FLAGS),
    "GROUP": (-1, 0, 1, 2, 3, 4, 8, 16),
    "LEVEL": (-1, 0, 1, 2, 3, 4),
}
WORDS = "static assertion failed"


def outcome(one: Step, changes: dict[str, int]) -> str:
    """ "refused" or "right"; raises whatever else happens, CheckError and PTXError among it."""
    try:
        changed = one.define(**changes)
        changed.kernel  # noqa: B018
    except CompileError as error:
        if WORDS not in str(error):
            raise
        return "refused"
    except ValueError:  # by `define`
        return "refused"
    check(changed, "interpreter")
    return "right"


def alone(one: Step) -> list[dict[str, int]]:
    """Each value of each define, the others as the file has them."""
    return [{name: value} for name in one.defines for value in VALUES[name]]


def together(one: Step, stream: random.Random) -> dict[str, int]:
    """Some of the defines, with values drawn at random; powers of two are drawn more often."""
    names = stream.sample(sorted(one.defines), stream.randint(2, len(one.defines)))
    ordinary = [x for name in names for x in [[v for v in VALUES[name] if v > 0 and not v & v - 1]]]
    return {
        name: stream.choice(usual if usual and stream.random() < 0.9 else VALUES[name])
        for name, usual in zip(names, ordinary)
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kernels.ladder.sweep", description=__doc__
    )
    parser.add_argument("steps", nargs="*", type=step, help="all if none")
    parser.add_argument("--seconds", type=float, default=300, help="of random ones; default: 300")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    chosen = options.steps or steps()
    stream = random.Random(options.seed)
    counts = {"refused": 0, "right": 0, "WRONG": 0}

    def attempt(one: Step, changes: dict[str, int]) -> None:
        try:
            found = outcome(one, changes)
        except Exception as error:
            found = "WRONG"
            label = " ".join([one.id, *(f"{k}={v}" for k, v in changes.items())])
            print(f"{label}: {type(error).__name__}: {str(error)[:600]}\n", flush=True)
        counts[found] += 1

    for one in chosen:
        for changes in alone(one):
            attempt(one, changes)
        print(one.id, counts, flush=True)
    end = time.monotonic() + options.seconds
    for one in cycle(chosen):
        if time.monotonic() > end:
            break
        attempt(one, together(one, stream))
    print(counts)
    return int(counts["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main())
