"""Steps beside the rates that published kernels with the same idea reach, their floors.

    python benchmarks/floors.py [--measure]

Reads what is recorded of the GPU of `floors.json`, or times its one size on the GPU here. Prints a
line for each step with a floor; the exit status is 1 if one is below it or has no record.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kernels
from kernels import records
from kernels.measure import bench

PATH = records.recorded_path(records.RECORDED_ON, "floors.json")


def line(label: str, floor: float, measured: records.Results, size: int) -> tuple[str, bool]:
    """What is said of a step, and whether it reaches its floor, in TFLOPS."""
    record = measured.find(label, size)
    tflops = record.tflops if record else 0.0
    verdict = "no record" if record is None else "ok" if tflops >= floor else "below"
    return f"{label:<24}{tflops:8.2f}{floor:8.2f}  {verdict}", verdict == "ok"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="on the GPU here")
    measure = parser.parse_args(argv).measure
    data = json.loads(PATH.read_text(encoding="utf-8"))
    steps, size = [kernels.step(label) for label in data["floors"]], data["size"]
    measured = bench.benchmark(steps, [size]) if measure else records.results(data["gpu"])
    print(f"{measured.gpu} at {size}; floors on {data['gpu']}: {data['what']}")
    rows = [line(label, floor, measured, size) for label, floor in data["floors"].items()]
    print(*(text for text, _ in rows), sep="\n")
    return 0 if all(reached for _, reached in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
