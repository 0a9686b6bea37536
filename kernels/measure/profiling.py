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

from ..instruments.metrics import METRICS
from ..run import gpu
from .provenance import provenance
from .records import counters_path, write

ROOT = Path(__file__).parents[2]
KERNEL = "sgemm"  # launches of other kernels are not counted
LAUNCHES = 5  # of which the least counts: see `profile`


class ProfileError(RuntimeError):
    """ncu failed, or counted something else than was asked for."""


def run_ncu(
    command: Sequence[str], kernels: str, metrics: Sequence[str] = METRICS, timeout: float = 1200
) -> list[dict[str, float]]:
    """Run a Python command line (`["-m", "module", ...]`) under ncu.

    kernels: a regular expression for the names of the kernels that count. Returns the metrics of
    their launches in order, with the kernel's name as "name". Raises OSError without ncu and
    ProfileError, with its words, if it fails or has counted nothing.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise FileNotFoundError("Nsight Compute's command line, ncu, is not on the PATH")
    report = subprocess.run(
        [
            ncu,
            "--csv",
            "--page",
            "raw",
            "--print-units",
            "base",
            "--clock-control",
            "none",
            "--kernel-name-base",
            "function",
            "--kernel-name",
            f"regex:{kernels}",
            "--metrics",
            ",".join(metrics),
            sys.executable,
            *command,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    if report.returncode:
        raise ProfileError(
            f"ncu failed ({report.returncode}): {(report.stdout + report.stderr)[-2000:]}"
        )
    rows = parse(report.stdout, metrics)
    if not rows:
        raise ProfileError(f"ncu counted no kernel: {(report.stdout + report.stderr)[-2000:]}")
    return rows


def parse(text: str, metrics: Sequence[str] = METRICS) -> list[dict[str, float]]:
    """The rows of ncu's raw page in CSV, whatever the program printed around it."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID","')), None)
    if start is None:
        return []
    table = csv.DictReader(line for line in lines[start:] if line.startswith('"'))
    rows = []
    for row in table:
        if not row["ID"]:
            continue  # the line of units
        values = {m: float(row[m].replace(",", "")) for m in metrics if row.get(m)}
        rows.append(
            {"name": row["Kernel Name"]}
            | {m: int(v) if v == int(v) else v for m, v in values.items()}
        )
    return rows


def profile(steps: Sequence, size: int, output: Path | None = None) -> dict:
    """The counters of each step for M = N = K = size, each run under ncu in its own process.

    All counters but those of shared stores are the same in every launch. Stores to shared memory
    take more wavefronts, in one launch more than in another, when data from global memory comes
    in at that moment (arbitration); so the least of 5 launches is kept.
    Returns {"provenance": …, "size": …, "steps": {label: {metric: count}}} and, with `output`,
    saves that after every step; counts that were there of other steps stay. Raises gpu.NoGPU,
    ProfileError for a shape that a step cannot do, and what `run_ncu` raises.
    """
    gpu.require()
    output = output or counters_path(gpu.device().name)
    found = {"provenance": provenance(**tool()), "size": size, "steps": {}}
    if output.exists():
        before = json.loads(output.read_text(encoding="utf-8"))
        if before["size"] == size:
            found["steps"] = before["steps"]
    for step in steps:
        if constraint := step.broken(size, size, size):
            raise ProfileError(f"{step.label} requires {constraint}, which {size} breaks")
        command = ["-m", "kernels", "run", step.label, str(size), "--times", str(LAUNCHES)]
        rows = run_ncu([*command, "--device", "gpu"], f"^{KERNEL}$")
        if len(rows) != LAUNCHES:
            raise ProfileError(f"{len(rows)} launches of {KERNEL} counted, not {LAUNCHES}")
        found["steps"][step.label] = {m: min(row[m] for row in rows) for m in METRICS}
        write(output, json.dumps(found, indent=1, sort_keys=True) + "\n")
    return found


def tool() -> dict[str, str | None]:
    """What records of counters say besides where they come from."""
    return {"ncu": _ncu_version(), "what": "Nsight Compute, --clock-control none"}


def _ncu_version() -> str | None:
    if shutil.which("ncu") is None:
        return None  # `run_ncu` says so
    answer = subprocess.run(["ncu", "--version"], capture_output=True, text=True)
    words = [line for line in answer.stdout.splitlines() if line.startswith("Version")]
    return words[0].split()[1] if words else None
