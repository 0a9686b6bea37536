"""Commands that record what only a GPU knows, beside times: profile, bits."""

from __future__ import annotations

import argparse
import json
import sys

from anywarp import gpu

from ..ladder.check import digest
from ..ladder.step import steps
from ..measure import profiling
from ..measure.provenance import begun
from ..records import BITS, write
from .words import able, chosen, command, cube, json_alone, option, show

BITS_SHAPES = ((64, 64, 64), (256, 256, 256), (128, 384, 256), (67, 71, 73))


def run_profile(options: argparse.Namespace) -> int:
    """Save what Nsight Compute counts, and print it."""
    asked = able(chosen(options))
    record, usual = (profiling.stalls, 4096) if options.stalls else (profiling.profile, 256)
    size = options.size or usual
    recorded = record(asked, size, options.output)
    lines = []
    for profiled in asked:
        for launch in profiled.launches(size, size, size):
            label = profiling.label_of(profiled, launch.kernel)
            counts = sorted(recorded["steps"][label].items())
            lines += [f"{label}, {size}", *(f"{count:15,}  {name}" for name, count in counts)]
    show(options, recorded, "\n".join(lines))
    return 0


def run_bits(options: argparse.Namespace) -> int:
    """Save the SHA-256 of results, and print how many there are of each step."""
    gpu.require()
    output, before = begun(BITS, options.output)
    recorded = before or {}
    for asked in able(options.steps or steps()):
        recorded[asked.label] = {
            "x".join(map(str, shape)): digest(asked, *shape, device="gpu")
            for shape in BITS_SHAPES
            if asked.broken(*shape) is None
        }
        with json_alone(options):
            print(f"{asked.label}: {len(recorded[asked.label])} shapes")
    write(output, json.dumps(recorded, indent=2, sort_keys=True) + "\n")
    if options.json:
        print(json.dumps(recorded))
    print(f"saved in {output}", file=sys.stderr)
    return 0


WAITS = "record what warps wait for and how busy the GPU is, not what a trace counts"
SIZE = "of M = N = K; default: 256, and 4096 with --stalls"
COUNTS = "save it here; default: GPU/counters.json, or stalls.json, in your folder"
PROFILE = command(
    run_profile,
    "profile",
    "count the same on the GPU, with Nsight Compute's ncu, and save it",
    "steps",
    option("--stalls", action="store_true", help=WAITS),
    option("--size", type=cube, metavar="N", help=SIZE),
    option("--output", help=COUNTS),
    "--variants",
    "--json",
)
HASHES = "record the SHA-256 of results on the GPU, for tests to compare with"
THERE = option("--output", help=f"save them here; default: GPU/{BITS} in your folder")
BITS_COMMAND = command(run_bits, "bits", HASHES, "steps", "--json", THERE)
