"""tools/lines.py: the code stays as small as pyproject.toml says."""

from __future__ import annotations

import importlib
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
lines = importlib.import_module("lines")


@pytest.mark.parametrize(
    "text, count",
    [
        ("", 0),
        ("# why\n\nx = 1  # because\n", 1),
        ('"""A module."""\n\n\ndef f():\n    """What.\n\n    More.\n    """\n    return 1\n', 2),
        ('x = """not\n\na docstring"""\n', 3),
        ("f(\n    # why\n    1,\n)\n", 3),
    ],
)
def test_only_code_counts(text, count):
    assert lines.lines_of_code(text) == count


def test_folders_are_counted_two_levels_deep(tmp_path):
    for path in "anywarp/a.py", "anywarp/ptx/b.py", "anywarp/ptx/text/c.py", "tests/d.py":
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    assert lines.by_folder(tmp_path) == {"anywarp": 1, "anywarp/ptx": 2}


def test_the_code_is_within_its_budget(capsys):
    """To raise the number takes a reason in the commit that does it."""
    within = not lines.main()
    assert within, capsys.readouterr().out
