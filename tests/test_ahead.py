"""tools/ahead.py: notebooks run ahead of the pages, side by side."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from building import ROOT

pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")

SETTINGS = """import os, sys
sys.path.insert(0, {tools!r})
import ahead
ahead.gpu.available = lambda: {gpu}
os.cpu_count = lambda: 2
extensions = ["myst_nb", "ahead"]
root_doc = "a"
nb_execution_mode = "{mode}"
nb_execution_timeout = 90
"""
# Waits for a notebook that says it is there at the same time.
MEETS = """from pathlib import Path
import os, time
Path("{mine}.there").touch()
end = time.monotonic() + {seconds}
while time.monotonic() < end and not Path("{other}.there").exists():
    time.sleep(0.05)
print(os.getpid(), "met" if Path("{other}.there").exists() else "alone")
Path("{mine}.there").unlink() if {leaves} else None"""


def built(folder: Path, code: dict[str, str], mode: str = "cache", gpu: bool = False) -> str:
    """What a build of these notebooks printed; `kept` has their outputs then."""
    for name, source in code.items():
        cells = [nbformat.v4.new_markdown_cell(f"# {name}"), nbformat.v4.new_code_cell(source)]
        kernel = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
        nb = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
        nbformat.write(nb, folder / f"{name}.ipynb")
    settings = SETTINGS.format(tools=str(ROOT / "tools"), mode=mode, gpu=gpu)
    (folder / "conf.py").write_text(settings)
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", str(folder), str(folder / "_build")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)


def kept(folder: Path) -> list[str]:
    """What the notebooks in the cache printed."""
    found = (folder / ".jupyter_cache" / "executed").glob("*/base.ipynb")
    books = [nbformat.read(path, as_version=4) for path in found]
    return sorted(output.text for nb in books for output in nb.cells[-1].outputs)


def meeting(seconds: float, leaves: bool = False) -> dict[str, str]:
    return {
        mine: MEETS.format(mine=mine, other=other, seconds=seconds, leaves=leaves)
        for mine, other in ("ab", "ba")
    }


def test_notebooks_run_at_the_same_time_and_once(tmp_path):
    code = {**meeting(seconds=60), "c": "1 / 0"}
    said = built(tmp_path, code)
    first = kept(tmp_path)
    assert len(first) == 2 and all(text.endswith(" met\n") for text in first)
    assert "running notebooks... [100%] c" in said
    assert "c.ipynb: WARNING: Executing notebook failed: CellExecutionError" in said
    (tmp_path / "c.ipynb").unlink()
    built(tmp_path, {name: code[name] for name in "ab"})
    assert kept(tmp_path) == first  # with the numbers of the same processes


def test_one_after_another_on_a_gpu(tmp_path):
    built(tmp_path, meeting(seconds=0.5, leaves=True), gpu=True)
    found = kept(tmp_path)
    assert len(found) == 2 and all(text.endswith(" alone\n") for text in found)


def test_none_where_the_build_runs_none(tmp_path):
    built(tmp_path, {"a": "print(1)"}, mode="off")
    assert kept(tmp_path) == []
