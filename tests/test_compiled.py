"""The compilations that come with the book are those that NVRTC makes.

That none is missing is for nbval, which runs the notebooks on them: see `conftest.py`.
"""

from __future__ import annotations

import hashlib
import importlib
import sys

import nbformat
import pytest
from building import ROOT

import kernels
from anywarp import build
from anywarp.compile import nvrtc, store

sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("compiled")
PATHS = sorted(tool.FOLDER.glob("*.tar.bz2"))
AGAIN = "run python tools/compiled.py"


def test_the_sums_are_those_of_the_files():
    sums = store._sums(tool.FOLDER)
    assert PATHS and sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PATHS
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name[:8])
def test_none_is_stale(path):
    stored = store.read(path.read_bytes())
    assert ".".join(map(str, stored.nvrtc)) in nvrtc.WHEEL, f"made by another NVRTC: {AGAIN}"
    assert path.name == store.name_of(stored.recipe), f"{stored.recipe}: headers changed: {AGAIN}"
    step = ROOT / "kernels" / "cuda" / stored.recipe.filename
    if step.is_file():
        assert stored.recipe.source == step.read_text(encoding="utf-8"), stored.recipe
    if isinstance(stored.made, nvrtc.Compiled):
        assert (stored.made.cubin is not None) == stored.recipe.real


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS[::10], ids=lambda path: path.name[:8])
def test_nvrtc_makes_the_same(path, monkeypatch):
    """A tenth of them, since what changes one changes all: options, headers, another NVRTC."""
    stored = store.read(path.read_bytes())
    if stored.nvrtc != nvrtc.version():
        pytest.skip(f"NVRTC {stored.nvrtc} made it, and {nvrtc.version()} is here")
    monkeypatch.chdir("/")  # NVRTC writes the working directory into what it makes
    assert build.compiled(stored.recipe).made == stored.made


def test_ptx_is_the_same_with_and_without_a_cubin():
    """So one file serves both."""
    source = kernels.step("10_transposed_tile").source
    recipe = store.Recipe(str(source), "a.cu", (), ("sgemm",), "compute_90")
    made = [build.compiled(recipe._replace(arch=arch)).made for arch in ("compute_90", "sm_90")]
    assert made[0].ptx == made[1].ptx and made[0].cubin is None and made[1].cubin


@pytest.fixture
def without_nvrtc(monkeypatch):
    def load():
        raise ImportError("no such library")

    monkeypatch.setattr(nvrtc, "load", load)
    build.compile.cache_clear()


def test_every_step_and_declared_variant_is_there(without_nvrtc):
    tool.compile_steps()


def test_a_version_of_your_own_says_what_is_missing(without_nvrtc):
    mine = kernels.step("06_bank_conflicts").define(PAD=9)
    words = (
        r"^06_bank_conflicts\.cu for compute_90 .*-DPAD=9.* did not come compiled, .* pip install"
    )
    for act in mine.check, lambda: mine.attempt(conflicts=0), lambda: mine.trace(32, 32, 32):
        with pytest.raises(build.NoCompiler, match=words):
            act()


# ---------------------------------------------------------------------- the command


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook with an exercise, and a folder of its own for what it compiles."""
    (tmp_path / "compiled").mkdir()
    monkeypatch.setattr(tool, "FOLDER", tmp_path / "compiled")
    monkeypatch.setattr(store, "_given", [tmp_path / "compiled"])
    monkeypatch.setitem(tool.TRIES, "a", [[["Four", [["make", "make(4), make"]], False]]])
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    starter = code("make(2)", metadata={"tags": ["starter"]})
    cells = [
        code(f"import sys; sys.path.insert(0, {str(ROOT)!r})"),
        code(
            "from anywarp import build\n"
            "def make(x):\n"
            "    text = f'extern \"C\" __global__ void f(int* x) {{ *x = {x}; }}'\n"
            "    arch = 'sm_90' if x == 1 else 'compute_90'\n"
            "    return build.compile(text, 'a.cu', (), ('f',), arch)"
        ),
        code("make(1)"),
        starter,
        text("<details><summary>Solution</summary>\n\n```python\nmake(3)\n```\n\n</details>"),
    ]
    path = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_what_a_notebook_and_its_answers_compile_is_stored_once(notebook, monkeypatch, capsys):
    recipes = tool.asked([notebook])
    tool.store(recipes)
    found = [store.read(path.read_bytes()) for path in tool.FOLDER.glob("*.tar.bz2")]
    wanted = {"*x = 1;": True, "*x = 2;": False, "*x = 3;": False, "*x = 4;": False}
    assert len(found) == 4 == capsys.readouterr().out.count("compiles a.cu")
    for part, real in wanted.items():
        (one,) = (one for one in found if part in one.recipe.source)
        assert one.recipe.real is real and one.nvrtc == nvrtc.version()
        assert str(ROOT) not in one.made.ptx  # where it was made
    for version, compiled in ((nvrtc.version(), 0), ((99, 0), 4)):
        monkeypatch.setattr(nvrtc, "version", lambda version=version: version)
        tool.store(recipes)
        assert capsys.readouterr().out.count("compiles a.cu") == compiled


def test_what_nobody_asks_for_is_removed_only_after_all(notebook, monkeypatch):
    old = tool.FOLDER / "old.tar.bz2"
    old.touch()
    asked = []
    monkeypatch.setattr(tool, "notebooks", lambda: [notebook])
    monkeypatch.setattr(tool, "store", lambda recipes: None)
    monkeypatch.setattr(tool, "asked", lambda *of, **more: asked.append((*of, more)) or [])
    for words, and_steps in ([str(notebook)], False), ([], True):
        assert old.exists()
        monkeypatch.setattr(sys, "argv", ["compiled.py", *words])
        tool.main()
        assert asked.pop() == ([notebook], {"and_steps": and_steps})
    assert not old.exists()
