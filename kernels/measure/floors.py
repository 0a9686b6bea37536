"""Steps against the rates that published kernels with the same idea reach, their floors.

Both are at one square size; its record `floors.json` says at which, and on which GPU the
floors were measured. `python -m kernels bench --compare` prints the comparison.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anywarp import gpu

from ..analysis.reference import CheckError
from ..records import RECORDED_ON, Results, recorded_path, results
from . import bench

PATH = recorded_path(RECORDED_ON, "floors.json")


@dataclass(frozen=True)
class Floors:
    gpu: str
    size: int
    what: str
    floors: dict[str, float]  # TFLOPS by the label of a step

    @classmethod
    def load(cls, path: Path = PATH) -> Floors:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Row:
    step: str  # a label
    tflops: float | None  # None without a record
    share_of_cublas: float | None
    floor: float | None  # None where nothing comparable was published

    @property
    def verdict(self) -> str:
        if self.tflops is None:
            return "no record"
        if self.floor is None:
            return "no floor"
        return "ok" if self.tflops >= self.floor else "below"

    @property
    def ok(self) -> bool:
        return self.verdict in ("ok", "no floor")


@dataclass(frozen=True, repr=False)
class Standing:
    """A row for each step. Prints as a table."""

    results: Results
    floors: Floors
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether every step has a record, at its floor or above."""
        return all(row.ok for row in self.rows)

    @property
    def heading(self) -> str:
        found, size = self.results, self.floors.size
        how = "recorded, not measured now" if found.recorded else "measured"
        lines = [
            f"{found.gpu} at {size} x {size} x {size}, {how}, {found.date}",
            f"floor: {self.floors.what}",
        ]
        if found.gpu != self.floors.gpu:
            lines.append(f"The floors are of another GPU, {self.floors.gpu}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        def cell(value: float | None, form: str) -> str:
            return "-" if value is None else format(value, form)

        width = max([22, *(len(row.step) for row in self.rows)]) + 2
        lines = [self.heading, "", f"{'step':<{width}}{'TFLOPS':>8}{'of cuBLAS':>11}{'floor':>8}"]
        for row in self.rows:
            lines.append(
                f"{row.step:<{width}}{cell(row.tflops, '.2f'):>8}"
                f"{cell(row.share_of_cublas, '.1%'):>11}"
                f"{cell(row.floor, '.2f'):>8}  {row.verdict}"
            )
        missing = {row.step for row in self.rows if row.tflops is None}
        lines += [
            f"left out: {text}"
            for text in self.results.left_out
            if text.partition(":")[0].partition(" at ")[0] in missing
        ]
        return "\n".join(lines)

    def to_json(self) -> str:
        found, floors = self.results, self.floors
        rows = [asdict(row) | {"verdict": row.verdict} for row in self.rows]
        return json.dumps(
            {
                "gpu": found.gpu,
                "recorded": found.recorded,
                "date": found.date,
                "size": floors.size,
                "floors_gpu": floors.gpu,
                "what": floors.what,
                "ok": self.ok,
                "steps": rows,
            },
            indent=1,
        )


def standing(found: Results, steps: Sequence[Any], floors: Floors) -> Standing:
    """Each of the steps in the results, beside its floor."""
    rows = []
    for step in steps:
        record = found.find(step, floors.size)
        rows.append(
            Row(
                step.label,
                record and record.tflops,
                record and found.share_of_cublas(record),
                floors.floors.get(step.label),
            )
        )
    return Standing(found, floors, tuple(rows))


def run_cli(
    steps: Sequence[Any], recorded: bool, output: Path | None, merge: bool, as_json: bool
) -> int:
    """`python -m kernels bench --compare`: 0 if no step is below its floor or lacks a record.

    Compares what is recorded if that is asked for, or if there is neither a GPU nor an `output`
    to fill. Raises what `bench.benchmark` raises, except CheckError, which is printed.
    """
    floors = Floors.load()
    try:
        if recorded or not (output or gpu.available()):
            found = results(floors.gpu)
        else:
            found = bench.benchmark(steps, [floors.size], output=output, merge=merge)
    except CheckError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    table = standing(found, steps, floors)
    print(table.to_json() if as_json else table)
    return 0 if table.ok else 1
