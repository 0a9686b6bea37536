"""The tree is formatted, linted, spelt and, where a reader calls, typed, as pyproject.toml says."""

import ast
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


def test_mypy():
    ran = tool("mypy", "--cache-dir", "_build/mypy")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_docstrings():
    """Each function and class of a module says what it is; the first cell is a notebook's text."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for folder in ("anywarp", "kernels", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "first_cell.py"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, defined) and not ast.get_docstring(node)
    ]
    assert not silent, "without a docstring: " + ", ".join(silent)


WRITTEN = (".md", ".ipynb", ".py", ".cu", ".yml", ".css", ".js", ".toml", ".txt")


def written() -> list[str]:
    """The files that somebody wrote: not records, not other people's scripts."""
    folders = (
        "book",
        "anywarp",
        "kernels",
        "tools",
        "tests",
        "benchmarks",
        ".github",
        "requirements",
    )
    found = [path for name in folders for path in (ROOT / name).rglob("*")]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    skipped = {"mathjax", "__pycache__", ".ipynb_checkpoints", "results", "data"}
    return sorted(
        str(path)
        for path in found
        if path.suffix in WRITTEN and not skipped & set(path.relative_to(ROOT).parts)
    )


def test_spelling():
    ran = tool("codespell_lib", "--toml", "pyproject.toml", *written())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_spelling_sees_a_mistake(tmp_path):
    (tmp_path / "wrong.md").write_text("What was rec" + "ieved.\n")
    ran = tool("codespell_lib", "--toml", "pyproject.toml", str(tmp_path / "wrong.md"))
    assert ran.returncode == 65 and "received" in ran.stdout
