"""The notebooks as files. That their outputs are what their code gives is for nbval."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
tools = importlib.import_module("notebooks")
PATHS = tools.notebooks()
# The one at the root: the tests have one of their own.
spec = importlib.util.spec_from_file_location("root_conftest", ROOT / "conftest.py")
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)


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
    first, *others = code(notebook)
    for cell in others:
        most = 40 if tools.FOLD in cell.metadata.get("tags", []) else 20
        assert cell.source.count("\n") < most, cell.source
    lines = [line for cell in (first, *others) for line in cell.source.split("\n")]
    lines = [line for line in lines if not line.startswith("ARCHIVE = ")]  # as long as it is
    assert max(map(len, lines)) <= 80, max(lines, key=len)


def misfolded(notebook) -> list[str]:
    """What is wrong with the folded cells: `tools/notebooks.py run` sees to their metadata, and a
    notebook whose evidence has titles has no fold without one."""
    cells, found = code(notebook), []
    titled = [cell for cell in cells if cell.source.startswith(tools.TITLE)]
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell in titled and cell.metadata != tools.folded(cell.source, tags):
            found.append(f"run tools/notebooks.py: {cell.source}")
        if titled and cell not in titled and tools.FOLD in tags:
            found.append(f"a fold without a title: {cell.source}")
    return found


def test_what_is_folded_has_a_title(notebook):
    assert not misfolded(notebook)


def test_a_title_folds_a_cell():
    cell = nbformat.v4.new_code_cell("#@title 1 + 1 is 2\n1 + 1")
    cell.metadata = nbformat.from_dict({"tags": ["hide-cell", "live"], "collapsed": True})
    plain = nbformat.v4.new_code_cell("1 + 1", metadata={"tags": ["starter"]})
    made = nbformat.v4.new_notebook(cells=[cell, plain])
    assert len(misfolded(made)) == 1
    tools.fold(made)
    assert cell.metadata == {
        "tags": ["live", "hide-cell"],
        "mystnb": {"code_prompt_show": "1 + 1 is 2", "code_prompt_hide": "1 + 1 is 2"},
        "jupyter": {"source_hidden": True, "outputs_hidden": True},
        "cellView": "form",
    }
    assert plain.metadata == {"tags": ["starter"]}
    assert not misfolded(made)
    plain.metadata.tags.append("hide-cell")
    assert misfolded(made) == ["a fold without a title: 1 + 1"]


def test_pictures_and_tables_say_in_words_what_they_show(notebook):
    """That is what nbval compares of them."""
    for cell in code(notebook):
        for output in cell.outputs:
            if "text/html" in output.get("data", {}):
                text = output.data.get("text/plain", "")
                assert len(text) > 20 and " object at 0x" not in text, cell.source


def test_all_is_compared_but_times_of_this_run(notebook):
    for cell in code(notebook):
        ignored = "nbval-ignore-output" in cell.metadata.get("tags", [])
        assert ignored == ("perf_counter()" in cell.source), cell.source


def test_what_asks_for_the_readers_gpu_is_live(notebook):
    for cell in code(notebook):
        tags = cell.metadata.get("tags", [])
        assert "live" in tags or "starter" in tags or "kernels.here." not in cell.source


def test_nbval_compares_text_and_not_how_it_is_drawn(tmp_path):
    stored = [
        {"text/html": "<b>2</b>", "text/plain": "<Figure: 2>"},
        {"text/html": "drawn before", "text/plain": "<Figure: 2>"},
        {"text/html": "<b>2</b>", "text/plain": "<Figure: 3>"},
    ]
    source = (
        "class Two:\n    _repr_html_ = lambda self: '<b>2</b>'\n"
        "    __repr__ = lambda self: '<Figure: 2>'\nTwo()"
    )
    cells = [
        nbformat.v4.new_code_cell(
            source, outputs=[nbformat.v4.new_output("execute_result", data)], execution_count=n
        )
        for n, data in enumerate(stored, 1)
    ]
    nb = nbformat.v4.new_notebook(cells=cells, metadata=tools.METADATA)
    nbformat.write(nb, tmp_path / "drawn.ipynb")
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "conftest"]
    command += ["-n", "0", "-p", "no:cacheprovider", "--rootdir", ROOT, tmp_path]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    failed = [line.split("::")[1][:6] for line in ran.stdout.splitlines() if "FAILED" in line]
    assert failed == ["Cell 2"], ran.stdout + ran.stderr


def an_item(tags: list[str]) -> SimpleNamespace:
    """A cell as nbval hands it over."""
    return SimpleNamespace(
        path=PATHS[0],
        cell=nbformat.v4.new_code_cell(metadata={"tags": tags}),
        parent=SimpleNamespace(skip_compare=()),
        options={"check": True},
    )


@pytest.mark.parametrize("tags, there, compared", [
    (["live"], True, False), (["live"], False, True), ([], True, True),
])  # fmt: skip
def test_what_is_live_is_compared_without_a_gpu(monkeypatch, tags, there, compared):
    monkeypatch.setattr(conftest.gpu, "available", lambda: there)
    cell = an_item(tags)
    conftest.compare_text(cell)
    assert cell.options["check"] == compared


@pytest.mark.parametrize("gpu, named, version, compared", [
    (False, False, (13, 5), True), (True, False, (13, 5), False), (False, True, (13, 5), False),
    (True, True, (12, 9), True),
])  # fmt: skip
def test_machine_code_is_compared_with_that_of_the_books_compiler(
    monkeypatch, gpu, named, version, compared
):
    monkeypatch.setattr(conftest.gpu, "available", lambda: gpu)
    monkeypatch.setattr(conftest.nvrtc, "named", lambda: named)
    monkeypatch.setattr(conftest.nvrtc, "version", lambda: version)
    cell = an_item(["compiler"])
    conftest.compare_text(cell)
    assert cell.options["check"] == compared


def test_pictures_come_with_their_description(notebook):
    """A bare PNG or SVG output has no alt text; kernels.draw.Figure has."""
    for cell in code(notebook):
        for output in cell.outputs:
            bare = [kind for kind in output.get("data", {}) if kind.startswith("image/")]
            assert not bare, cell.source
