"""The exercises of the chapters: every starter misses its goal and every solution reaches it."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from typing import Any

import nbformat
import pytest
from portable import BOOK, CHAPTERS, DETAILS

from kernels.ladder.attempt import Attempt

STEPS = [path for path in CHAPTERS if path.name >= "02"]
FEWEST = 2
each = pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)


@dataclass(frozen=True)
class Exercise:
    title: str
    starter: str
    solution: str


def is_starter(cell: Any) -> bool:
    return cell.cell_type == "code" and "starter" in cell.metadata.get("tags", [])


def exercises(notebook: Any) -> list[Exercise]:
    """The starter cells with the headings before and the solutions after them."""
    found = []
    for before, cell, after in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        if not is_starter(cell):
            continue
        heads = re.findall(r"^### (Exercise \d+\. .+)$", before.source, re.MULTILINE)
        assert before.cell_type == "markdown" and heads, f"no heading before\n{cell.source}"
        assert after.cell_type == "markdown", f"no solution after {heads[-1]}"
        folded = DETAILS.match(after.source)
        blocks = re.findall(r"^```python\n(.*?)^```$", folded[0] if folded else "", re.M | re.S)
        assert len(blocks) == 1, f"{heads[-1]}: a solution begins the next cell, with one program"
        found.append(Exercise(heads[-1], cell.source, blocks[0].rstrip("\n")))
    return found


def last_value(source: str, names: dict[str, Any]) -> Any:
    """Run `source` with `names`; its last expression, which a notebook would show."""
    *body, last = ast.parse(source).body
    assert isinstance(last, ast.Expr), source
    exec(compile(ast.Module(body, []), "<exercise>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<exercise>", "eval"), names)


@each
def test_starters_miss_and_solutions_reach_the_goal(path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    found = exercises(notebook)
    assert len(found) == sum(map(is_starter, notebook.cells))  # none at an end of the notebook
    assert len(found) >= FEWEST
    monkeypatch.chdir(BOOK)
    monkeypatch.setattr("sys.path", sys.path[:])
    names: dict[str, Any] = {}
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][:2]:
        exec(compile(cell.source, path.name, "exec"), names)
    for one in found:
        starter, solution = (last_value(s, dict(names)) for s in (one.starter, one.solution))
        assert isinstance(starter, Attempt) and isinstance(solution, Attempt), one.title
        assert not starter, f"{one.title}: the starter has nothing left to do\n{starter!r}"
        assert starter.rows[0].passed, f"{one.title}: the starter does not compile\n{starter!r}"
        assert solution, f"{one.title}: the solution fails\n{solution!r}"
        demands = [[(row.what, row.goal) for row in tried.rows] for tried in (starter, solution)]
        assert demands[0] == demands[1], f"{one.title}: the solution has another goal"
        assert max(map(len, one.solution.split("\n"))) <= 80, one.title


HEAD = "### Exercise 1. Name\n\nWhat?"
SOLUTION = "<details><summary>Solution</summary>\n\nSo.\n\n```python\nb\n```\n\n</details>"


def notebook_of(head: str, tags: list[str], after: str) -> Any:
    code = nbformat.v4.new_code_cell("a", metadata={"tags": tags})
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(head), code, nbformat.v4.new_markdown_cell(after)]
    )


def test_an_exercise_is_taken_out():
    assert exercises(notebook_of(HEAD, ["starter"], SOLUTION + "\n\nMore.")) == [
        Exercise("Exercise 1. Name", "a", "b")
    ]
    assert exercises(notebook_of(HEAD, [], SOLUTION)) == []


@pytest.mark.parametrize(
    "head, after",
    [
        ("No heading.", SOLUTION),
        (HEAD, "No solution."),
        (HEAD, "First a word.\n\n" + SOLUTION),
        (HEAD, SOLUTION.replace("python", "cpp")),
    ],
)
def test_an_incomplete_exercise_is_refused(head, after):
    with pytest.raises(AssertionError):
        exercises(notebook_of(head, ["starter"], after))
