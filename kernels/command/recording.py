"""Commands that record what only a GPU knows, beside times: profile, errors, bits."""

from __future__ import annotations

import argparse
import json
import sys

from anywarp import gpu

from ..ladder.check.check import digest
from ..ladder.step import step, steps
from ..measure import accuracy, profiling
from ..measure.provenance import begun
from ..records import BITS, write
from .words import Command, able, add_json, add_output, add_variants, chosen, cube, json_alone

BITS_SHAPES = ((64, 64, 64), (256, 256, 256), (128, 384, 256), (67, 71, 73))


def add_profile(command: Command) -> None:
    text = "count the same on the GPU, with Nsight Compute's ncu, and save it"
    measuring = command(run_profile, "profile", text)
    measuring.add_argument(
        "--stalls",
        action="store_true",
        help="record what warps wait for and how busy the GPU is, not what a trace counts",
    )
    measuring.add_argument(
        "--size",
        type=cube,
        metavar="N",
        help="of M = N = K; default: 256, and 4096 with --stalls",
    )
    usual = "GPU/counters.json, or stalls.json, in your folder"
    add_output(measuring, f"save it here; default: {usual}")
    add_variants(measuring)
    add_json(measuring)


def add_errors(command: Command) -> None:
    text = "measure how wrong steps and cuBLAS are on the GPU, and save it"
    wrong = command(run_errors, "errors", text, usual=", ".join(accuracy.LABELS))
    add_json(wrong)
    add_output(wrong, "save it here; default: GPU/errors.json in your folder")


def add_bits(command: Command) -> None:
    text = "record the SHA-256 of results on the GPU, for tests to compare with"
    bits = command(run_bits, "bits", text)
    add_json(bits)
    add_output(bits, f"save them here; default: GPU/{BITS} in your folder")


def run_profile(options: argparse.Namespace) -> int:
    asked = able(chosen(options))
    record, usual = (profiling.stalls, 4096) if options.stalls else (profiling.profile, 256)
    size = options.size or usual
    recorded = record(asked, size, options.output)
    if options.json:
        print(json.dumps(recorded, indent=2))
        return 0
    names = (
        profiling.label_of(profiled, launch.kernel)
        for profiled in asked
        for launch in profiled.launches(size, size, size)
    )
    for label in names:
        print(f"{label}, {size}")
        for name, count in sorted(recorded["steps"][label].items()):
            print(f"{count:15,}  {name}")
    return 0


def run_errors(options: argparse.Namespace) -> int:
    asked = options.steps or [step(label) for label in accuracy.LABELS]
    with json_alone(options):
        recorded = accuracy.record(asked, step(accuracy.CHAINED), options.output)
    if options.json:
        print(json.dumps(recorded))
        return 0
    for row in recorded["cases"]:
        worst = ", ".join(f"{label} {error:.3g}" for label, error in row["errors"].items())
        print(f"{row['kind']}, {'x'.join(map(str, row['shape']))}: {worst}")
    return 0


def run_bits(options: argparse.Namespace) -> int:
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
