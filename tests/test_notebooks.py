"""The notebooks as files. That their outputs are what their code gives is for nbval."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
tools = importlib.import_module("notebooks")
PATHS = tools.notebooks()


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks():
    assert PATHS


def test_the_file_is_valid_and_names_no_version(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata == tools.METADATA


def test_the_first_cell_is_the_common_one(notebook):
    first = code(notebook)[0]
    assert first.source == tools.first_cell()
    assert first.metadata == tools.FIRST_CELL_METADATA
    assert not first.outputs


def test_outputs_are_those_of_one_run_from_top_to_bottom(notebook):
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        wanted = "raises-exception" in cell.metadata.get("tags", [])
        assert any(out.output_type == "error" for out in cell.outputs) == wanted


def test_outputs_name_no_machine_and_no_live_gpu(notebook):
    text = str([cell.outputs for cell in code(notebook)])
    for mark in str(ROOT), str(Path.home()), "ipykernel_", "0x7f", "live on ":
        assert mark not in text


def test_code_fits_the_page(notebook):
    for cell in code(notebook):
        lines = cell.source.split("\n")
        assert len(lines) <= 15, cell.source
        assert max(map(len, lines)) <= 80, max(lines, key=len)


def test_charts_are_not_compared(notebook):
    """Another version of matplotlib draws them with other names and numbers."""
    for cell in code(notebook):
        drawn = any("<clipPath" in str(output.get("data", "")) for output in cell.outputs)
        assert not drawn or "nbval-ignore-output" in cell.metadata.tags, cell.source


def test_pictures_come_with_their_description(notebook):
    """A bare PNG or SVG output has no alt text; kernels.draw.Figure has."""
    for cell in code(notebook):
        for output in cell.outputs:
            bare = [kind for kind in output.get("data", {}) if kind.startswith("image/")]
            assert not bare, cell.source


# ---------------------------------------------------------------------- the first cell


def run_first_cell(folder: Path, repository: str = "") -> subprocess.CompletedProcess:
    """Run the first cell in `folder`, then print which `kernels` it gives."""
    source = tools.first_cell().replace('REPOSITORY = ""', f"REPOSITORY = {repository!r}")
    source += "\nimport kernels; print(kernels.__file__)"
    return subprocess.run(
        [sys.executable, "-c", source], cwd=folder, capture_output=True, text=True, timeout=60
    )


def tree(root: Path) -> Path:
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "__init__.py").touch()
    return root


def test_first_cell_finds_the_folder_above(tmp_path):
    deep = tree(tmp_path / "tree") / "book" / "more"
    deep.mkdir(parents=True)
    found = run_first_cell(deep)
    assert found.stdout.strip() == str(tmp_path / "tree" / "kernels" / "__init__.py")


def test_first_cell_says_what_is_missing(tmp_path):
    lost = run_first_cell(tmp_path)
    assert lost.returncode != 0
    assert f"FileNotFoundError: no folder kernels/ in {tmp_path} or above" in lost.stderr


def test_first_cell_clones_once_where_an_address_is_set(tmp_path):
    origin = tree(tmp_path / "origin")
    git = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in ["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]:
        subprocess.run([*git, *command], check=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    for _ in range(2):  # the second time the clone is found
        found = run_first_cell(empty, origin.as_uri())
        assert found.stdout.strip() == str(empty / "sgemm-book" / "kernels" / "__init__.py")


def test_one_command_sets_the_address_everywhere(tmp_path, monkeypatch):
    cell, path = tmp_path / "first_cell.py", tmp_path / "01_first.ipynb"
    cell.write_text(tools.FIRST_CELL.read_text())
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("old")]), path)
    monkeypatch.setattr(tools, "BOOK", tmp_path)
    monkeypatch.setattr(tools, "FIRST_CELL", cell)
    for address in "https://example.org/book.git", "":
        tools.set_address(address)
        source = nbformat.read(path, as_version=4).cells[0].source
        assert source == tools.first_cell()
        assert f'REPOSITORY = "{address}"' in source


@pytest.mark.parametrize("text", ["example.org/book", 'https://a.org/"; import os', "https://a b"])
def test_what_is_no_address_is_refused(text):
    command = [sys.executable, str(ROOT / "tools" / "notebooks.py"), "address", text]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "not an https address" in refused.stderr
