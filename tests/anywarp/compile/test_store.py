"""What comes with the book: its names, what is read and what was written."""

import json

import pytest

from anywarp.compile import headers, store
from anywarp.compile.nvrtc import Compiled, Refused
from anywarp.compile.store import Compilation, Recipe

RECIPE = Recipe("// für\n#include <cmath>\n", "a.cu", ("-DBM=8",), ("f",), "sm_90")
MADE = Compiled("PTX", b"\x7fELF\0\0", "log", {"f": "f"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    folder.mkdir()
    monkeypatch.setattr(store, "_given", [folder])
    return folder


def put(recipe=RECIPE, made=MADE):
    store.write(store._given[0] / store.name_of(recipe), Compilation(recipe, made, (12, 9)))


def test_what_is_written_is_found():
    assert store.given(RECIPE) is None
    put()
    assert store.given(RECIPE) == Compilation(RECIPE, MADE, (12, 9))


def test_a_refusal_is_kept():
    virtual = RECIPE._replace(arch="compute_90")
    put(virtual, Refused("a.cu(1): error"))
    assert store.given(virtual).made == Refused("a.cu(1): error")
    put(made=Refused("ptxas alone may have refused"))
    assert store.given(virtual) is None


def test_the_same_contents_are_the_same_bytes(folder):
    put()
    (path,) = folder.iterdir()
    before = path.read_bytes()
    put()
    assert path.read_bytes() == before


@pytest.mark.parametrize("part, other", [
    ("source", "//"), ("filename", "b.cu"), ("options", ()), ("names", ()), ("arch", "sm_90a"),
])  # fmt: skip
def test_whatever_differs_is_another_file(part, other):
    put()
    assert store.given(RECIPE._replace(**{part: other})) is None


def test_ptx_is_that_of_the_gpu(folder):
    virtual = RECIPE._replace(arch="compute_90")
    put()
    assert store.given(virtual).made == Compiled("PTX", None, "", {"f": "f"})
    put(virtual, Compiled("PTX", None, "", {}))
    assert len(list(folder.iterdir())) == 1
    assert store.given(virtual).made.ptx == "PTX" and store.given(RECIPE) is None


def test_headers_count(monkeypatch, tmp_path):
    (tmp_path / "outer.cuh").write_text('  # include "inner.cuh"\n')
    (tmp_path / "inner.cuh").write_text("#define ANSWER 42\n")
    monkeypatch.setattr(headers, "added", [tmp_path])
    recipe = RECIPE._replace(source='#include "outer.cuh"\n#include <absent.h>\n')
    first = store.name_of(recipe)
    assert store.name_of(recipe) == first
    (tmp_path / "inner.cuh").write_text("#define ANSWER 43\n")
    assert store.name_of(recipe) != first


def test_the_prelude_counts(monkeypatch, tmp_path):
    first = store.name_of(RECIPE)
    (tmp_path / "prelude.h").write_text("typedef unsigned int uint;\n")
    monkeypatch.setattr(headers, "PRELUDE", tmp_path / "prelude.h")
    assert store.name_of(RECIPE) != first


def test_line_ends_of_windows_are_none(monkeypatch, tmp_path):
    text = headers.PRELUDE.read_bytes()
    first = store.name_of(RECIPE)
    (tmp_path / "prelude.h").write_bytes(text.replace(b"\n", b"\r\n"))
    monkeypatch.setattr(headers, "PRELUDE", tmp_path / "prelude.h")
    assert store.name_of(RECIPE) == first


def test_notes(monkeypatch, tmp_path):
    store.note(RECIPE)  # nobody wants to know
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setenv(store.NOTES, str(notes))
    both = [RECIPE._replace(arch="compute_90"), RECIPE]
    for recipe in [*both, *both]:
        store.note(recipe)
    assert sorted(store.noted(notes)) == sorted(both)
    assert all(json.loads(path.read_text()) for path in notes.iterdir())
