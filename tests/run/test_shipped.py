"""What comes with the book: its names, what is read and what was written."""

import json

import pytest

from kernels.run import headers, shipped
from kernels.run.nvrtc import Compiled, Refused
from kernels.run.shipped import Compilation, Recipe

RECIPE = Recipe("// für\n#include <cmath>\n", "a.cu", ("-DBM=8",), ("f",), "sm_90")
MADE = Compiled("PTX", b"\x7fELF\0\0", "log", {"f": "f"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    folder.mkdir()
    monkeypatch.setattr(shipped, "FOLDER", folder)
    return folder


def store(recipe=RECIPE, made=MADE):
    shipped.write(shipped.path_of(recipe), Compilation(recipe, made, (12, 9)))


def test_what_is_written_is_found():
    assert shipped.find(RECIPE) is None
    store()
    assert shipped.find(RECIPE) == Compilation(RECIPE, MADE, (12, 9))


def test_a_refusal_is_kept():
    virtual = RECIPE._replace(arch="compute_90")
    store(virtual, Refused("a.cu(1): error"))
    assert shipped.find(virtual).made == Refused("a.cu(1): error")
    store(made=Refused("ptxas alone may have refused"))
    assert shipped.find(virtual) is None


def test_the_same_contents_are_the_same_bytes(folder):
    store()
    (path,) = folder.iterdir()
    before = path.read_bytes()
    store()
    assert path.read_bytes() == before


@pytest.mark.parametrize("part, other", [
    ("source", "//"), ("filename", "b.cu"), ("options", ()), ("names", ()), ("arch", "sm_90a"),
])  # fmt: skip
def test_whatever_differs_is_another_file(part, other):
    store()
    assert shipped.find(RECIPE._replace(**{part: other})) is None


def test_ptx_is_that_of_the_gpu(folder):
    virtual = RECIPE._replace(arch="compute_90")
    store()
    assert shipped.find(virtual).made == Compiled("PTX", None, "", {"f": "f"})
    store(virtual, Compiled("PTX", None, "", {}))
    assert len(list(folder.iterdir())) == 1
    assert shipped.find(virtual).made.ptx == "PTX" and shipped.find(RECIPE) is None


def test_headers_count(monkeypatch, tmp_path):
    (tmp_path / "outer.cuh").write_text('  # include "inner.cuh"\n')
    (tmp_path / "inner.cuh").write_text("#define ANSWER 42\n")
    monkeypatch.setattr(headers, "STEPS", tmp_path)
    recipe = RECIPE._replace(source='#include "outer.cuh"\n#include <absent.h>\n')
    first = shipped.path_of(recipe)
    assert shipped.path_of(recipe) == first
    (tmp_path / "inner.cuh").write_text("#define ANSWER 43\n")
    assert shipped.path_of(recipe) != first


def test_the_prelude_counts(monkeypatch, tmp_path):
    first = shipped.path_of(RECIPE)
    (tmp_path / "prelude.h").write_text("typedef unsigned int uint;\n")
    monkeypatch.setattr(headers, "PRELUDE", tmp_path / "prelude.h")
    assert shipped.path_of(RECIPE) != first


def test_line_ends_of_windows_are_none(monkeypatch, tmp_path):
    text = headers.PRELUDE.read_bytes()
    first = shipped.path_of(RECIPE)
    (tmp_path / "prelude.h").write_bytes(text.replace(b"\n", b"\r\n"))
    monkeypatch.setattr(headers, "PRELUDE", tmp_path / "prelude.h")
    assert shipped.path_of(RECIPE) == first


def test_notes(monkeypatch, tmp_path):
    shipped.note(RECIPE)  # nobody wants to know
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv(shipped.NOTES, str(notes))
    both = [RECIPE._replace(arch="compute_90"), RECIPE]
    for recipe in [*both, *both]:
        shipped.note(recipe)
    assert sorted(shipped.noted(notes)) == sorted(both)
    assert all(json.loads(path.read_text()) for path in notes.iterdir())


def test_the_step_that_a_recipe_is_of():
    plain, other = (RECIPE._replace(filename=f"{name}.cu") for name in ("02_naive", "03_coalesced"))
    edited = RECIPE._replace(filename="02_naive edited.cu")
    assert shipped.digest_of_step(plain) == shipped.digest_of_step(edited) is not None
    assert shipped.digest_of_step(plain) != shipped.digest_of_step(other)
    assert shipped.digest_of_step(RECIPE) is None
