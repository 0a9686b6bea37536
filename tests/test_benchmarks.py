"""Benchmarks run, without a GPU too. The others: tests/kernels/measure/test_shapes.py."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.records import Record, Results

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))


def test_every_kind_of_call_is_timed():
    done = subprocess.run(
        [sys.executable, FOLDER / "calls.py", "--repeat", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.startswith("us per call, median of 1") and len(rows) == 7
    assert all(float(row.split()[0]) > 0 for row in rows)


floors = importlib.import_module("floors")


def test_no_recorded_step_is_below_its_floor(capsys):
    assert floors.main([]) == 0
    assert capsys.readouterr().out.count("  ok\n") == 14


@pytest.mark.parametrize("ms, verdict", [(1.0, "ok"), (1.001, "below"), (None, "no record")])
def test_a_floor_is_reached_or_not(ms, verdict):
    records = () if ms is None else (Record("x", 1000, 1000, 1000, ms, ms, ms, 20),)
    text, reached = floors.line("x", 2.0, Results({}, 1.0, 1.0, records), 1000)
    assert text.endswith(verdict) and reached == (verdict == "ok")
