"""Keep the notebooks of the book uniform.

    python tools/notebooks.py run [NOTEBOOK ...]    execute without a GPU, store the outputs
    python tools/notebooks.py learner FOLDER        write copies without the exercises' solutions

Without NOTEBOOK, all of them. What a copy links to beside the others is the book's: with a FOLDER
in this tree, a teacher hands out the tree.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
FIRST_CELL = ROOT / "tools" / "first_cell.py"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FIRST_CELL_METADATA = {
    "mystnb": {"code_prompt_show": "Set-up", "code_prompt_hide": "Set-up"},
    "jupyter": {"source_hidden": True},  # JupyterLab's word for it
    "tags": ["hide-input"],
}
TITLE = "#@title "  # Colab's word for the title of a cell
FOLD = "hide-cell"
SOLUTION = re.compile(r"\n*^<details><summary>Solution</summary>.*?^</details>", re.M | re.S)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|\w+\.ipynb)([^)\s#]+)")  # to no notebook


def notebooks() -> list[Path]:
    """All notebooks of the book, in order."""
    return sorted(BOOK.glob("*.ipynb"))


def first_cell() -> str:
    """The source of the first code cell."""
    return FIRST_CELL.read_text(encoding="utf-8").rstrip("\n")


def set_first_cell(nb: nbformat.NotebookNode) -> None:
    """Write the first code cell of `nb`; raises StopIteration where there is no code cell."""
    cell = next(c for c in nb.cells if c.cell_type == "code")
    cell.source = first_cell()
    cell.metadata = nbformat.from_dict(FIRST_CELL_METADATA)


def folded(source: str, tags: list[str]) -> dict[str, Any]:
    """The metadata of a cell that begins with a title, under which the page, JupyterLab and Colab
    fold it."""
    title = source.split("\n")[0].removeprefix(TITLE)
    return {
        "cellView": "form",
        "jupyter": {"outputs_hidden": True, "source_hidden": True},
        "mystnb": {"code_prompt_hide": title, "code_prompt_show": title},
        "tags": [*(tag for tag in tags if tag != FOLD), FOLD],
    }


def fold(nb: nbformat.NotebookNode) -> None:
    """Give each code cell of `nb` that begins with a title the metadata of a folded one."""
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.source.startswith(TITLE):
            cell.metadata = nbformat.from_dict(folded(cell.source, cell.metadata.get("tags", [])))


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, executed as on a machine without a GPU.

    Raises nbclient.exceptions.CellExecutionError when a cell fails.
    """
    nb = nbformat.read(path, as_version=4)
    set_first_cell(nb)
    fold(nb)
    execute(nb, path.parent)
    nb.metadata = nbformat.from_dict(METADATA)  # no version of Python: diffs show content only
    return nb


def execute(nb: nbformat.NotebookNode, folder: Path) -> None:
    """Run the cells of `nb` in a folder, as on a machine without a GPU; raises as `executed`."""
    from nbclient import NotebookClient

    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    NotebookClient(
        nb,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,  # what was printed is one output, however long it took
    ).execute()


def run(path: Path) -> None:
    """Execute `path` and store its outputs in it."""
    nbformat.write(executed(path), path)


def learner(path: Path, folder: Path) -> None:
    """Write the notebook into `folder` without the solutions of exercises and the folds that follow
    them, which check the answers. Hints, starters and all outputs stay."""
    nb, cells, solved = nbformat.read(path, as_version=4), [], False
    elsewhere = lambda to: Path(os.path.relpath(BOOK / to[1], folder)).as_posix()
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            solved = cell.source.rstrip().endswith("</details>")
            cell.source = LINK.sub(elsewhere, SOLUTION.sub("", cell.source).strip())
        elif solved := solved and FOLD in cell.metadata.get("tags", ()):
            continue
        cells += [cell] if cell.source else []
    nb.cells = cells
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, folder / path.name)


def main() -> int:
    """Run the notebooks that are given, or all, or write copies; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    command = commands.add_parser("run", help="execute without a GPU and store the outputs")
    command.add_argument("notebook", nargs="*", type=Path)
    command = commands.add_parser("learner", help="write copies without solutions")
    command.add_argument("folder", type=Path)
    command.set_defaults(notebook=[])
    options = parser.parse_args()
    for path in options.notebook or notebooks():
        print(path)
        run(path) if options.command == "run" else learner(path, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
