"""The tree is formatted, linted and, where a reader calls, typed: pyproject.toml says how."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(*command: str) -> subprocess.CompletedProcess:
    if importlib.util.find_spec(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed: pip install -r requirements.txt")
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize("command", [("check", "."), ("format", "--check", ".")])
def test_ruff(command):
    ran = tool("ruff", *command, "--no-cache")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_mypy(tmp_path):
    ran = tool("mypy", "--cache-dir", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
