"""book/programs: host programs that the book shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from building import ROOT

import kernels
from kernels.ladder.source import regions

PROGRAM = ROOT / "book" / "programs" / "vector_add.cu"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program as nvcc builds it."""
    if not Path(NVCC).is_file():
        pytest.skip("there is no nvcc")
    built = tmp_path_factory.mktemp("program") / "vector_add"
    command = [NVCC, "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Werror", PROGRAM]
    run = subprocess.run([*command, "-o", built], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return built


def test_it_compiles_without_a_warning_and_reports_errors(program):
    run = subprocess.run(
        [program], capture_output=True, text=True, env={"CUDA_VISIBLE_DEVICES": ""}
    )
    assert run.returncode == 1 and run.stderr.startswith("CUDA: ")


@pytest.mark.gpu
def test_it_adds(program):
    run = subprocess.run([program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "1000003 sums are right\n"), run.stderr


def test_the_file_is_its_head_and_the_two_regions():
    """So that what the notebook shows is the whole of it but for the includes."""
    parts = regions(PROGRAM.name, PROGRAM.read_text(encoding="utf-8"))
    assert list(parts) == ["kernel", "host"]
    rest = PROGRAM.read_text(encoding="utf-8")
    for part in parts.values():
        assert part in rest
        rest = rest.replace(part, "")
    assert all(re.match(r"\s*(//|#include|$)", line) for line in rest.splitlines())
    assert max(map(len, "\n".join(parts.values()).splitlines())) <= 80


def test_its_kernel_adds_in_the_interpreter():
    source = regions(PROGRAM.name, PROGRAM.read_text(encoding="utf-8"))["kernel"]
    n = 1003
    a, b = np.random.default_rng(0).random((2, n), dtype=np.float32)
    c = np.full(n, np.nan, np.float32)
    add = kernels.Kernel(source, "add")
    add(4, 256, (n, a, b, c), "interpreter")
    np.testing.assert_array_equal(c, a + b)
    assert not add.sanitize(4, 256, (n, a, b, c))
