"""Notebooks and pages as a plain Markdown viewer has them, for the tests."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from pathlib import Path

import nbformat
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
BOOK = ROOT / "book"
NOTEBOOKS = importlib.import_module("notebooks").notebooks()
CHAPTERS = [path for path in NOTEBOOKS if re.match(r"\d\d_|the_gpu", path.name)]
DETAILS = re.compile(r"^<details>.*?^</details>$", re.MULTILINE | re.DOTALL)


@functools.cache
def markdown(path: Path) -> str:
    """The text of a page, or of all text cells of a notebook."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
