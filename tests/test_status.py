"""book/status.md: all but the seconds is what the notebooks' files say."""

from __future__ import annotations

import importlib
import re
import sys

import nbformat
import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
status = importlib.import_module("status")


def test_the_page_has_what_the_notebooks_have():
    text = status.PAGE.read_text(encoding="utf-8")
    before, after = map(re.escape, status.TEXT.split("{machine}"))
    table = re.fullmatch(rf"{before}.*{after}((?:.|\n)*)", text)
    assert table, "python tools/status.py writes it anew"
    said = re.findall(r"^(.* \| )\d+\.\d \|$", table[1], re.MULTILINE)
    rows = [status.row(path) for path in status.notebooks.notebooks()]
    assert said == [*rows, status.total(rows)], "python tools/status.py writes it anew"


def test_a_row_counts_the_cells_of_a_notebook(tmp_path):
    tags = [], ["hide-cell", "live"], ["starter"], ["nbval-ignore-output"], ["hide-input"]
    cells = [
        nbformat.v4.new_code_cell("1", execution_count=n, metadata={"tags": [*names]})
        for n, names in enumerate(tags, 1)
    ]
    path = tmp_path / "01_first.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("#"), *cells]), path
    )
    link = "| [01_first](01_first.ipynb) | "
    row = f"{link}5 | 3 | 1 | 1 | "
    assert status.row(path) == row
    assert status.total([row, row]) == "| all 2 | 10 | 6 | 2 | 2 | "
    nbformat.write(nbformat.v4.new_notebook(cells=cells[::-1]), path)
    with pytest.raises(ValueError, match="01_first.ipynb was not executed in order"):
        status.row(path)


def test_the_command_writes_the_page_and_leaves_the_notebooks(tmp_path, monkeypatch):
    path = tmp_path / "01_first.ipynb"
    cells = [nbformat.v4.new_code_cell("1 + 1", execution_count=1)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    monkeypatch.setattr(status.notebooks, "notebooks", lambda: [path])
    monkeypatch.setattr(status.notebooks, "set_first_cell", lambda nb: None)
    page = tmp_path / "status.md"
    monkeypatch.setattr(status, "PAGE", page)
    status.main()
    assert path.read_bytes() == before
    *head, first, last = page.read_text(encoding="utf-8").splitlines()
    before, after = map(re.escape, status.TEXT.split("{machine}"))
    machine = r"\d+ cores, [\d-]+, Python 3[\d.]+"
    assert re.fullmatch(before + machine + after, "\n".join([*head, ""]))
    assert re.fullmatch(re.escape(status.row(path)) + r"\d+\.\d \|", first)
    assert re.fullmatch(re.escape(status.total([status.row(path)])) + r"\d+\.\d \|", last)
