"""Store what the notebooks compile, for readers who have no compiler.

    python tools/compiled.py [NOTEBOOK ...]

runs the notebooks without a GPU, with the solutions of their exercises and with what readers try
instead, as tools/tries.json has it, and keeps in `kernels/compiled` what they asked to have
compiled. Without NOTEBOOK it runs all of them, takes the steps with their declared variants as
well, and removes what nobody asked for. It works on Linux, with the NVRTC of
requirements/compiler.txt.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import live
import nbformat
from notebooks import ROOT, execute, notebooks

sys.path.insert(0, str(ROOT))
import kernels
from anywarp import build
from anywarp.compile import nvrtc
from anywarp.compile.store import NOTES, SUMS, Recipe, given, name_of, noted, write

FOLDER = ROOT / "kernels" / "compiled"
TRIES = json.loads(live.TRIES.read_text("utf-8"))  # of each starter, by page
SOLUTION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def tried(starter: str, changes: list[list[str]]) -> str:
    """A starter with what a reader tries in it: pairs of what stands there once, and instead."""
    for old, new in changes:
        starter = starter.replace(old, new)
    return starter


def with_solutions(nb: nbformat.NotebookNode, tries: list[list]) -> nbformat.NotebookNode:
    """The notebook with its exercises' solutions, and these tries, as cells, after the two that
    they need."""
    nb = copy.deepcopy(nb)
    starters = [n for n, cell in enumerate(nb.cells) if "starter" in cell.metadata.get("tags", [])]
    sources = [text for n in starters for text in SOLUTION.findall(nb.cells[n + 1].source)]
    for n, of in zip(starters, tries):
        sources += [tried(nb.cells[n].source, changes) for _, changes, _ in of]
    code = [n for n, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    if sources:
        nb.cells[code[1] + 1 : code[1] + 1] = map(nbformat.v4.new_code_cell, sources)
    return nb


def run(path: Path) -> None:
    """Execute a notebook. Raises nbclient.exceptions.CellExecutionError when a cell fails."""
    nb = nbformat.read(path, as_version=4)
    execute(with_solutions(nb, TRIES.get(path.stem, [])), path.parent)


def compile_steps() -> None:
    """Compile all steps and their declared variants, for the interpreter."""
    for step in kernels.steps():
        for each in (step, *step.variants):
            assert each.kernels


def asked(paths: list[Path], and_steps: bool = False) -> list[Recipe]:
    """What these notebooks ask to have compiled; and the steps."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    with tempfile.TemporaryDirectory() as folder:
        os.environ[NOTES] = folder
        if and_steps:
            compile_steps()
        for path in paths:
            print(path, flush=True)
            run(path)
        del os.environ[NOTES]
        return list(noted(Path(folder)))


def store(recipes: list[Recipe]) -> None:
    """Compile what is not stored yet, or was by another NVRTC; from the root of the file system,
    since NVRTC writes the working directory into what it makes."""
    where, version = Path.cwd(), nvrtc.version()
    # of two for one file, the one with a cubin
    wanted = {name_of(recipe): recipe for recipe in sorted(recipes, key=lambda recipe: recipe.real)}
    os.chdir("/")
    try:
        for name, recipe in wanted.items():
            result = given(recipe)
            if result is None or result.nvrtc != version:
                print(f"compiles {recipe}", flush=True)
                write(FOLDER / name, build.compiled(recipe))
    finally:
        os.chdir(where)


def write_sums() -> None:
    """SHA256SUMS, as `sha256sum *` writes it."""
    paths = sorted(path for path in FOLDER.iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (FOLDER / SUMS).write_text("".join(lines), encoding="utf-8")


def main() -> int:
    """Store what the notebooks compile, and remove what none of them does; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebook", nargs="*", type=Path)
    chosen = parser.parse_args().notebook
    recipes = asked([path.resolve() for path in chosen or notebooks()], and_steps=not chosen)
    store(recipes)
    if not chosen:
        for name in {path.name for path in FOLDER.glob("*.tar.bz2")} - set(map(name_of, recipes)):
            print(f"removes {name}")
            (FOLDER / name).unlink()
    write_sums()
    return 0


if __name__ == "__main__":
    sys.exit(main())
