"""What warps wait for while their scheduler issues nothing: samples by Nsight Compute.

    python -m benchmarks.samples OUTPUT

Of each step and edited step that `kernels.stalls` has of an H200, at its size; `kernels.stalls`
reads them beside its own. What all warps wait for, in all cycles, is another thing where most
cycles issue.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anywarp import gpu
from anywarp.trace.metrics import REASONS, SAMPLED
from benchmarks import experiments
from kernels.analysis.reference import inputs
from kernels.ladder.step import step
from kernels.measure import profiling
from kernels.measure.provenance import provenance
from kernels.records import RECORDED_ON, STALLS, recorded_path, write

LAUNCHES = 4
# what ncu calls the reasons whose names it has otherwise in STALLED
NAMES = {"no_instruction": "no_instructions", "gmma": "warpgroup_arrive"}
METRICS = {x: SAMPLED.format(NAMES.get(x, x)) for x in REASONS if "selected" not in x}


def stalls() -> dict[str, Any]:
    """The record of the H200, as it is stored."""
    return json.loads(recorded_path(RECORDED_ON, STALLS).read_text(encoding="utf-8"))


def steps() -> Iterator[Any]:
    """Those of that record that run by themselves."""
    edits = {x.label: x for e in experiments.TABLE.values() for x in e.steps(step)}
    for label in stalls()["steps"]:
        if ":" not in label:
            yield edits[label] if "," in label else step(label)


def launch() -> None:
    """What runs under ncu: each, some times."""
    n = stalls()["size"]
    A, B = (gpu.to_device(x) for x in inputs(n, n, n)[:2])
    for one in steps():
        for _ in range(LAUNCHES):
            one(A, B, device="gpu")


def measure() -> dict[str, Any]:
    """By label and metric, under the names of SAMPLED. Raises as `run_ncu`."""
    gpu.require()
    rows = iter(
        profiling.run_ncu(["-m", "benchmarks.samples", "--launch"], "^sgemm$", [*METRICS.values()])
    )
    counted = {}
    for one in steps():
        own = [next(rows) for _ in range(LAUNCHES)]
        sums = {x: sum(row[name] for row in own) for x, name in METRICS.items()}
        counted[one.label] = {SAMPLED.format(x): n for x, n in sums.items() if n}
    what = f"{LAUNCHES} launches each, samples of warps whose scheduler issued nothing"
    return {
        "provenance": provenance(**profiling.tool() | {"what": what}),
        "size": stalls()["size"],
        "steps": counted,
    }


def main(arguments: list[str]) -> None:
    if arguments[0] == "--launch":
        launch()
        return
    record = measure()
    lines = ",\n".join(f"  {json.dumps(x)}: {json.dumps(n)}" for x, n in record["steps"].items())
    head = json.dumps({name: record[name] for name in ("provenance", "size")}, indent=1)[:-2]
    write(Path(arguments[0]), f'{head},\n "steps": {{\n{lines}\n }}\n}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
