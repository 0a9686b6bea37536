"""`tools/notebooks.py learner`: the exercises without their solutions, for teachers."""

from __future__ import annotations

import ast
import importlib
import re
import sys

import nbformat
import pytest
from building import ROOT
from test_exercises import borrowed, is_starter

sys.path.insert(0, str(ROOT / "tools"))
tools = importlib.import_module("notebooks")
PATHS = tools.notebooks()
SOLUTION = re.compile(r"<summary>Solution</summary>(.*?)</details>", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learner") / "new" / "copies"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["notebooks.py", "learner", str(folder)])
        assert tools.main() == 0
    return folder


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def pair(request, folder):
    """A notebook and its copy."""
    return [
        nbformat.read(one, as_version=4) for one in (request.param, folder / request.param.name)
    ]


def texts(nb) -> str:
    return "\n\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")


def code(nb) -> list:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def test_no_solution_is_left_and_all_else_is(pair):
    before, after = pair
    assert "Solution</summary>" not in texts(after)
    solutions = [part.strip() for part in SOLUTION.findall(texts(before))]
    lines = {line for part in solutions for line in part.split("\n") if len(line) > 40}
    hinted = SOLUTION.sub("", texts(before))
    assert not [line for line in lines if line in texts(after) and line not in hinted]
    assert texts(after).count("<details") == texts(before).count("<details") - len(solutions)
    heads = [re.findall(r"^#+ .*", texts(nb), re.MULTILINE) for nb in pair]
    assert heads[0] == heads[1]


def test_starters_and_outputs_stay_and_checks_of_answers_go(pair):
    before, after = map(code, pair)
    assert [cell for cell in before if cell in after] == after
    assert [cell for cell in before if is_starter(cell)] == [c for c in after if is_starter(c)]
    gone = [cell for cell in before if cell not in after]
    assert all(tools.FOLD in cell.metadata.tags for cell in gone)
    firsts = [cell.source.split("\n")[0].lower() for cell in after]
    assert not [line for line in firsts if re.match("#.*(answers|solutions), checked", line)]
    assert len(gone) <= 4


def links(text: str) -> list[str]:
    """To files."""
    return re.findall(r"\]\((?![a-z]+:|#)([\w./-]+\.(?:ipynb|md|cu))", text)


def test_a_copy_is_valid_and_its_links_lead_somewhere(pair, folder):
    before, after = pair
    nbformat.validate(after)
    found = links(texts(after))
    assert not [link for link in found if not (folder / link).resolve().is_file()]
    kept = links(re.sub(SOLUTION, "", texts(before)))
    assert [link.split("/")[-1] for link in found] == [link.split("/")[-1] for link in kept]


def names(cell) -> tuple[set[str], set[str]]:
    """Those that a cell defines, and those that it uses and does not define."""
    nodes = ast.walk(ast.parse(cell.source))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}, (
        borrowed(cell.source)
    )


def test_what_stays_needs_nothing_that_went(pair):
    before, after = map(code, pair)
    there: set[str] = set()
    lost: set[str] = set()
    for cell in before[1:]:
        defined, used = names(cell)
        if cell in after:
            assert not used & (lost - there), cell.source
            there |= defined
        else:
            lost |= defined


def test_what_follows_no_solution_stays(tmp_path, monkeypatch):
    markdown, cell = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    solution = "<details><summary>Solution</summary>\n\nSo.\n\n</details>"
    folded = {"metadata": {"tags": ["hide-cell"]}}
    cells = [
        markdown("Why?\n\n" + solution), cell("#@title Checked", **folded),
        cell("#@title Again", **folded), cell("draw()"), cell("#@title Kept", **folded),
        markdown(solution), cell("#@title Out", **folded),
        markdown(solution + "\n\nThe [next](glossary.md#l1), [one](02_b.ipynb), [two](#l1)."),
        cell("#@title Material", **folded),
    ]  # fmt: skip
    monkeypatch.setattr(tools, "BOOK", tmp_path / "book")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01_a.ipynb")
    tools.learner(tmp_path / "01_a.ipynb", tmp_path / "learner")
    left = nbformat.read(tmp_path / "learner" / "01_a.ipynb", as_version=4).cells
    assert [one.source for one in left] == [
        "Why?", "draw()", "#@title Kept",
        "The [next](../book/glossary.md#l1), [one](02_b.ipynb), [two](#l1).", "#@title Material",
    ]  # fmt: skip
