"""The exercises of the chapters: every starter misses its goal, every solution reaches it, and so
does what readers try instead, or not, as tools/tries.json says.

All of them run here; `conftest.py` keeps nbval from running the starters too. What a starter comes
to has to be the stored output of its cell.
"""

from __future__ import annotations

import ast
import builtins
import html
import importlib
import re
import sys
from typing import Any, NamedTuple

import nbformat
import pytest
from portable import BOOK, CHAPTERS, DETAILS

from anywarp import build
from anywarp.compile import nvrtc
from kernels.ladder.attempt import Attempt, Row

tool = importlib.import_module("compiled")  # of tools, where portable looks too
FEWEST = 2
WIDEST = 80  # characters of a line
LONGEST = 40  # of a title
HINT = re.compile(r"<details><summary>Hint</summary>.*?</details>\s*", re.S)
each = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


class Exercise(NamedTuple):
    title: str
    starter: Any  # the cell
    solution: str


def is_starter(cell: Any) -> bool:
    return cell.cell_type == "code" and "starter" in cell.metadata.get("tags", [])


def exercises(notebook: Any) -> list[Exercise]:
    """The starter cells with the headings before and the solutions after them."""
    in_order = []
    for before, cell, after in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        if not is_starter(cell):
            continue
        heads = re.findall(r"^### (Exercise \d+\. .+)$", before.source, re.MULTILINE)
        assert before.cell_type == "markdown" and heads, f"no heading before\n{cell.source}"
        assert after.cell_type == "markdown", f"no solution after {heads[-1]}"
        hint = HINT.match(after.source)  # may stand before it
        folded = DETAILS.match(after.source, hint.end() if hint else 0)
        blocks = re.findall(r"^```python\n(.*?)^```$", folded[0] if folded else "", re.M | re.S)
        assert len(blocks) == 1, f"{heads[-1]}: a solution begins the next cell, with one program"
        in_order.append(Exercise(heads[-1], cell, blocks[0].rstrip("\n")))
    return in_order


def last_value(source: str, names: dict[str, Any]) -> Any:
    """Run `source` with `names`; its last expression, which a notebook would show."""
    *body, last = ast.parse(source).body
    assert isinstance(last, ast.Expr), source
    exec(compile(ast.Module(body, []), "<exercise>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<exercise>", "eval"), names)


def table(cell: Any) -> list[list[str]]:
    """The rows of the Attempt that a cell shows: verdict, what, goal and what was found."""
    assert not [tag for tag in cell.metadata.tags if tag.startswith(("nbval", "live"))], cell.source
    assert len(cell.outputs) == 1, cell.source
    shown = cell.outputs[0].data["text/html"]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in shown.split("<tr>")[2:]]
    return [[html.unescape(text) for text in row] for row in rows]


def shown_as_stored(cell: Any, value: Any) -> bool:
    """Whether the output of a cell is what a notebook shows of a value."""
    (output,) = cell.outputs
    return output.data == {"text/html": value._repr_html_(), "text/plain": repr(value)}


def borrowed(source: str) -> set[str]:
    """The names that a cell uses and does not define."""
    nodes = list(ast.walk(ast.parse(source)))
    named = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in named if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {node.id for node in named} - own - set(dir(builtins))


def begun(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that an exercise finds: those of the first two code cells."""
    monkeypatch.chdir(BOOK)
    monkeypatch.setattr("sys.path", sys.path[:])
    names: dict[str, Any] = {}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][:2]:
        exec(compile(cell.source, "<chapter>", "exec"), names)
    return names


@pytest.mark.slow
@each
def test_starters_miss_and_solutions_reach_the_goal(path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    of_chapter = exercises(notebook)
    assert len(of_chapter) == sum(map(is_starter, notebook.cells))  # none at an end of the notebook
    assert len(of_chapter) >= FEWEST
    names = begun(notebook, monkeypatch)
    for title, cell, program in of_chapter:
        starter = table(cell)
        assert starter[0][0] == "✓ passed", f"{title}: the starter does not compile\n{starter}"
        verdicts = {verdict for verdict, *_ in starter}
        assert "✗ failed" in verdicts, f"{title}: the starter has nothing left to do\n{starter}"
        assert borrowed(cell.source) <= names.keys(), title
        missed = last_value(cell.source, dict(names))
        assert shown_as_stored(cell, missed), f"{title}: not as stored\n{missed!r}"
        solution = last_value(program, dict(names))
        assert isinstance(solution, Attempt), title
        assert solution, f"{title}: the solution fails\n{solution!r}"
        demands = [(what, goal) for _, what, goal, _ in starter]
        assert demands == [(row.what, row.goal) for row in solution.rows], (
            f"{title}: the solution has another goal"
        )
        assert max(map(len, program.split("\n"))) <= WIDEST, title


@each
def test_tries_change_what_stands_once_in_a_starter(path):
    cells = nbformat.read(path, as_version=4).cells
    starters = [cell.source for cell in cells if is_starter(cell)]
    assert len(tool.TRIES[path.stem]) == len(starters)
    for starter, tries in zip(starters, tool.TRIES[path.stem]):
        titles = [title for title, _, _ in tries]
        assert len({*titles}) == len(titles) > 0, titles
        assert max(map(len, titles)) <= LONGEST, titles
        for title, changes, right in tries:
            assert isinstance(right, bool), title
            assert changes and {starter.count(old) for old, _ in changes} == {1}, title
            source = tool.tried(starter, changes)
            assert all(new in source for _, new in changes), f"{title}: one change undoes another"
            assert source != starter and max(map(len, source.split("\n"))) <= WIDEST, title


def test_tries_are_of_the_chapters():
    assert tool.TRIES.keys() == {path.stem for path in CHAPTERS}


@pytest.fixture
def as_it_comes(no_gpu, monkeypatch):
    """A machine without a GPU, and without a compiler, whichever its user names."""
    monkeypatch.setenv(nvrtc.CHOICE, "none")
    nvrtc.load.cache_clear()
    build.compile.cache_clear()
    yield
    nvrtc.load.cache_clear()
    build.compile.cache_clear()


@pytest.mark.slow
@each
def test_tries_come_compiled_and_reach_the_goal_as_is_said(path, as_it_comes, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    names = begun(notebook, monkeypatch)
    starters = [cell.source for cell in notebook.cells if is_starter(cell)]
    for starter, tries in zip(starters, tool.TRIES[path.stem]):
        for title, changes, right in tries:
            came = last_value(tool.tried(starter, changes), dict(names))
            assert isinstance(came, Attempt), title
            assert came.passed is right, f"{title}\n{came!r}"


def test_the_table_of_a_cell_is_read():
    rows = (Row("compiles", True, "", ""), Row("wavefronts", False, "at most 1", "a < b\nmore"))
    shown = nbformat.v4.new_output(
        "execute_result", {"text/html": Attempt("7", rows)._repr_html_()}
    )
    cell = nbformat.v4.new_code_cell(metadata={"tags": ["starter"]}, outputs=[shown])
    assert table(cell) == [
        ["✓ passed", "compiles", "", ""],
        ["✗ failed", "wavefronts", "at most 1", "a < b\nmore"],
    ]
    cell.metadata.tags.append("nbval-ignore-output")
    with pytest.raises(AssertionError):
        table(cell)


def test_names_that_a_cell_borrows():
    cell = "mine = step.edit(size)\ndef f(x):\n    return x + len(y)\n[n for n in f(mine)]"
    assert borrowed(cell) == {"step", "size", "y"}


HEAD = "### Exercise 1. Name\n\nWhat?"
HINTED = "<details><summary>Hint</summary>\n\nLook.\n\n</details>\n\n"
SOLUTION = "<details><summary>Solution</summary>\n\nSo.\n\n```python\nb\n```\n\n</details>"


def notebook_of(head: str, tags: list[str], after: str) -> Any:
    code = nbformat.v4.new_code_cell("a", metadata={"tags": tags})
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(head), code, nbformat.v4.new_markdown_cell(after)]
    )


def test_an_exercise_is_taken_out():
    notebook = notebook_of(HEAD, ["starter"], SOLUTION + "\n\nMore.")
    assert exercises(notebook) == [Exercise("Exercise 1. Name", notebook.cells[1], "b")]
    assert exercises(notebook_of(HEAD, [], SOLUTION)) == []
    (hinted,) = exercises(notebook_of(HEAD, ["starter"], HINTED + SOLUTION))
    assert hinted.solution == "b"


@pytest.mark.parametrize(
    "head, after",
    [
        ("No heading.", SOLUTION),
        (HEAD, "No solution."),
        (HEAD, "First a word.\n\n" + SOLUTION),
        (HEAD, SOLUTION.replace("python", "cpp")),
        (HEAD, HINTED),
    ],
)
def test_an_incomplete_exercise_is_refused(head, after):
    with pytest.raises(AssertionError):
        exercises(notebook_of(head, ["starter"], after))
