"""benchmarks/calls.py runs, without a GPU too. The others: tests/kernels/measure/test_shapes.py."""

import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "benchmarks" / "calls.py"


def test_every_kind_of_call_is_timed():
    done = subprocess.run(
        [sys.executable, FILE, "--repeat", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.startswith("us per call, median of 1") and len(rows) == 7
    assert all(float(row.split()[0]) > 0 for row in rows)
