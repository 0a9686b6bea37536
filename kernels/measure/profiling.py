"""Nsight Compute's counters of the kernels, measured on a GPU: `python -m kernels profile`.

What a trace computes is put beside them by tests, so that the model of the hardware is checked
against the hardware.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anywarp import gpu
from anywarp.trace import ASYNC_METRICS, METRICS, PIPE, STATE

from ..ladder.step import Step
from ..records import COUNTERS, STALLS, write
from .provenance import begun, provenance

ROOT = Path(__file__).parents[2]
KERNEL = "sgemm"  # the one that multiplies
FLAGS = "--csv --page raw --print-units base --clock-control none --kernel-name-base function"
LAUNCHES = 5  # of which the least counts: see `profile`
TIMEOUT = 1200  # seconds


class ProfileError(RuntimeError):
    """ncu failed, or counted something else than was asked for."""


def run_ncu(
    command: Sequence[str], kernels: str, metrics: Sequence[str] = METRICS
) -> list[dict[str, Any]]:
    """Run a Python command line (`["-m", "module", ...]`) under ncu.

    kernels: a regular expression for the names of the kernels that count. Returns the metrics of
    their launches in order, with the kernel's name as "name". Raises OSError without ncu and
    ProfileError, with its words, if it fails or has counted nothing.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise FileNotFoundError("Nsight Compute's command line, ncu, is not on the PATH")
    options = ["--kernel-name", f"regex:{kernels}", "--metrics", ",".join(metrics)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    report = subprocess.run(
        [ncu, *FLAGS.split(), *options, sys.executable, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=os.environ | {"PYTHONPATH": path},
    )
    end = (report.stdout + report.stderr)[-2000:]
    if report.returncode:
        raise ProfileError(f"ncu failed ({report.returncode}): {end}")
    if not (rows := parse(report.stdout, metrics)):
        raise ProfileError(f"ncu counted no kernel: {end}")
    return rows


def parse(text: str, metrics: Sequence[str] = METRICS) -> list[dict[str, Any]]:
    """The rows of ncu's raw page in CSV, whatever the program printed around it. Raises
    ProfileError for a metric that this GPU does not have."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID","')), None)
    if start is None:
        return []
    table = csv.DictReader(line for line in lines[start:] if line.startswith('"'))
    rows = []
    for row in table:
        if not row["ID"]:
            continue  # the line of units
        if missing := [m for m in metrics if row.get(m) == "n/a"]:
            raise ProfileError(f"ncu does not count {missing[0]} on this GPU")
        values = {m: float(row[m].replace(",", "")) for m in metrics if row.get(m)}
        counts = {m: int(v) if v == int(v) else v for m, v in values.items()}
        rows.append({"name": row["Kernel Name"], **counts})
    return rows


def profile(steps: Sequence[Step], size: int, output: Path | None = None) -> dict[str, Any]:
    """The counters of each kernel of each step for M = N = K = size.

    All counters but those of shared stores are the same in every launch. Stores to shared memory
    take more wavefronts, in one launch more than in another, when data from global memory comes
    in at that moment (arbitration); so the least of 5 launches is kept.
    Returns {"provenance": …, "size": …, "steps": {label: {metric: count}}} and saves it, by
    default where `kernels.counters` reads it; counts that were there of other steps stay. Raises
    gpu.NoGPU, ProfileError for a shape that a step cannot do, and what `run_ncu` raises.
    """
    # the data pipe by itself: with it ncu would need two passes, in which stores wait differently
    passes = [m for m in METRICS if m != PIPE], [PIPE]
    return _record(steps, size, COUNTERS, output, passes, LAUNCHES)


def stalls(
    steps: Sequence[Step], size: int, output: Path | None = None, command: Sequence[str] = ()
) -> dict[str, Any]:
    """What kept each step from issuing instructions, for M = N = K = size: the metrics of STATE,
    of one launch with cold caches. Returned, saved and refused as by `profile`;
    `kernels.stalls` reads it. `command` is what launches them once each, in order, where
    `python -m kernels run` does not know their labels."""
    return _record(steps, size, STALLS, output, [STATE], 1, command)


def _record(
    steps: Sequence[Step],
    size: int,
    name: str,
    output: Path | None,
    passes: Sequence[Sequence[str]],
    launches: int,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Count the metrics of each pass for the steps, the least of `launches`, and save them. With
    steps on tensor cores, ASYNC_METRICS are counted too, of which those that are 0 are left out, as
    they are in a trace."""
    gpu.require()
    for step in steps:
        if constraint := step.broken(size, size, size):
            raise ProfileError(f"{step.label} requires {constraint}, which {size} breaks")
    counted: dict[str, Any] = {"provenance": provenance(**tool()), "size": size, "steps": {}}
    output, before = begun(name, output)
    if before and before["size"] == size:
        counted["steps"] = before["steps"]
    if not command:
        command = ["-m", "kernels", "run", steps[0].label, str(size), "--times", str(launches)]
        command += [word for step in steps[1:] for word in ("--also", step.label)]
        command += ["--device", "gpu"]
    expected = [  # in order, with the label under which each is recorded
        (label_of(step, launch.kernel), launch.kernel)
        for step in steps
        for _ in range(launches)
        for launch in step.launches(size, size, size)
    ]
    counts: dict[str, dict[str, Any]] = {label: {} for label, _ in expected}
    beside = [ASYNC_METRICS] if any(step.tensor_cores for step in steps) else []
    for metrics in (*passes, *beside):
        rows = launched(command, [name for _, name in expected], metrics)
        for label in counts:
            own = [row for row, (of, _) in zip(rows, expected) if of == label]
            least = {m: min(row[m] for row in own) for m in metrics}
            counts[label] |= {m: n for m, n in least.items() if n or m not in ASYNC_METRICS}
    counted["steps"] |= counts
    write(output, json.dumps(counted, indent=1, sort_keys=True) + "\n")
    return counted


def label_of(step: Step, kernel: str) -> str:
    """Under which name a kernel of a step is recorded: the step's own for the one that multiplies,
    and `LABEL:pack` for another."""
    return step.label if kernel == KERNEL else f"{step.label}:{kernel}"


def launched(
    command: Sequence[str], names: Sequence[str], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """The metrics of the launches of kernels of these names, in order. Raises ProfileError if
    there are others, and what `run_ncu` raises."""
    kernels = dict.fromkeys(names)
    rows = run_ncu(command, f"^({'|'.join(kernels)})$", metrics)
    if [row["name"].partition("(")[0] for row in rows] != list(names):
        raise ProfileError(
            f"{len(rows)} launches of {', '.join(kernels)} counted, not {len(names)}, or in "
            "another order"
        )
    return rows


def tool() -> dict[str, str | None]:
    """What records of counters say besides where they come from."""
    return {"ncu": _ncu_version(), "what": "Nsight Compute, --clock-control none"}


def _ncu_version() -> str | None:
    """The version of the Nsight Compute that is installed, or None."""
    if shutil.which("ncu") is None:
        return None  # `run_ncu` says so
    answer = subprocess.run(["ncu", "--version"], capture_output=True, text=True)
    words = [line for line in answer.stdout.splitlines() if line.startswith("Version")]
    return words[0].split()[1] if words else None
