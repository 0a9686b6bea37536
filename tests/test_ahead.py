"""tools/ahead.py: notebooks run ahead of the pages, side by side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from building import ROOT

pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")

# Each waits until the other is there at the same time.
MEETS = """import os, pathlib, time
pathlib.Path("{mine}.there").touch()
end = time.monotonic() + 60
while not pathlib.Path("{other}.there").exists():
    assert time.monotonic() < end, "nobody came"
    time.sleep(0.05)
print(os.getpid())"""

# A process of its own, since event loops of its threads stay open until it ends.
RUN = """import os, sys
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, {tools!r})
import ahead
os.cpu_count = lambda: 2

def run(cache, mode="cache", gpu=False):
    ahead.gpu.available = lambda: gpu
    paths = [*Path.cwd().glob("*.ipynb"), Path.cwd() / "page.md"]
    files = {{path.stem: path for path in paths}}
    settings = dict(execution_mode=mode, execution_cache_path=cache, execution_timeout=90)
    env = SimpleNamespace(mystnb_config=SimpleNamespace(**settings), doc2path=files.__getitem__)
    ahead.run_notebooks(SimpleNamespace(verbosity=0), env, sorted(files))

run("off", mode="off")
run("gpu", gpu=True)
run("first")
import shutil
shutil.copytree("first", "again")
run("again")"""


def kept(cache: Path) -> list[str]:
    """What the notebooks in a cache printed."""
    books = [nbformat.read(path, as_version=4) for path in cache.glob("executed/*/base.ipynb")]
    return sorted(output.text for nb in books for output in nb.cells[0].outputs)


def test_notebooks_run_at_the_same_time_and_once(tmp_path):
    """Not on a GPU, nor where the build runs none; one that fails is left to the build."""
    code = {mine: MEETS.format(mine=mine, other=other) for mine, other in ("ab", "ba")}
    for name, source in {**code, "c": "1 / 0"}.items():
        kernel = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
        cells = [nbformat.v4.new_code_cell(source)]
        nb = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
        nbformat.write(nb, tmp_path / f"{name}.ipynb")
    (tmp_path / "page.md").write_text("# A page\n")
    script = RUN.format(tools=str(ROOT / "tools"))
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    numbers = kept(tmp_path / "first")
    assert len(set(numbers)) == 2
    assert kept(tmp_path / "again") == numbers  # of the same processes
    assert not (tmp_path / "gpu").exists() and not (tmp_path / "off").exists()
