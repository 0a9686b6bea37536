"""book/status.md: all but the seconds is what the notebooks' files say."""

from __future__ import annotations

import importlib
import re
import sys

import nbformat
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
status = importlib.import_module("status")


def test_the_page_has_what_the_notebooks_have():
    text = status.PAGE.read_text(encoding="utf-8")
    assert len(re.findall(status.MACHINE, text)) == 1
    table = re.search(status.ROWS, text, re.MULTILINE)[0]
    said = re.findall(r"^(.* \| )\d+\.\d \|$", table, re.MULTILINE)
    now = [status.row(path) for path in status.notebooks.notebooks()]
    assert said == now, "python tools/status.py writes it anew"


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
    assert status.row(path) == f"{link}nbclient, no GPU | 5 | 3 | 1 | 1 | "
    nbformat.write(nbformat.v4.new_notebook(cells=cells[::-1]), path)
    assert status.row(path).startswith(f"{link}not in order | 5 | ")


def test_the_command_writes_the_page_and_leaves_the_notebooks(tmp_path, monkeypatch):
    path = tmp_path / "01_first.ipynb"
    cells = [nbformat.v4.new_code_cell("1 + 1", execution_count=1)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    monkeypatch.setattr(status.notebooks, "notebooks", lambda: [path])
    monkeypatch.setattr(status.notebooks, "set_first_cell", lambda nb: None)
    page = tmp_path / "status.md"
    page.write_text(
        "The seconds are one run, on a machine.\n\n| a |\n|--|\n| [b](b) |\n| [c](c) |\n"
    )
    monkeypatch.setattr(status, "PAGE", page)
    status.main()
    assert path.read_bytes() == before
    first, _, *head, last = page.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"The .*, on \d+ cores without a GPU, [\d-]+, Python 3[\d.]+\.", first)
    assert head == ["| a |", "|--|"]
    assert re.fullmatch(re.escape(status.row(path)) + r"\d+\.\d \|", last)
