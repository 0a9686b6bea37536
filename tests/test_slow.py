"""What a plain pytest leaves out is what others do once: every step is looked at in each way, but
for all counters of those that take long."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from building import ROOT
from slow import heavy
from test_check import CHAPTERS

import kernels

WAYS = (
    "tests/kernels/ladder/test_check.py::test_shipped_steps_are_right",
    "tests/kernels/ladder/test_check.py::test_the_bits_are_those_of_a_real_gpu",
    "tests/kernels/measure/test_profiling.py::test_computed_equals_measured",
    "tests/kernels/ladder/test_mutations.py::test_a_mutant_is_noticed",
    "tests/test_targets.py::test_nothing_is_found_in_a_step",
)


@pytest.fixture(scope="module")
def collected() -> list[str]:
    files = {way.partition("::")[0] for way in WAYS}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", *sorted(files)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "deselected" in ran.stdout
    return ran.stdout.splitlines()


def checked_in_its_chapter(one) -> bool:
    (path,) = (ROOT / "book").glob(f"{one.id}.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return any("step.check()" in "".join(x["source"]) for x in cells if x["cell_type"] == "code")


@pytest.mark.parametrize("way", WAYS)
def test_no_step_is_left_out(collected, way):
    names = [line for line in collected if line.startswith(f"{way}[")]
    for one in kernels.steps():
        if "test_check.py::test_shipped" in way and one.id[:2] in CHAPTERS:
            assert checked_in_its_chapter(one), one.id
        elif "test_profiling.py" in way and heavy(one.id):
            continue  # some of their counters are compared in the chapters
        else:
            assert any(one.id in name for name in names), one.id
