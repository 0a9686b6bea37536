"""book/faults.ipynb and benchmarks.faults, which runs the page's kernels on a GPU."""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import sys
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from anywarp import Kernel, gpu
from benchmarks import faults
from kernels.records import FOLDER

PAGE = faults.page()
RECORDS = sorted(FOLDER.glob("*/faults.json"))
TOOL = {"errors": 0, "lines": [], "says": [], "warnings": 0}


def test_every_kernel_has_all_that_a_launch_needs():
    names = ["softmax", "last_warp", "last_lanes", "intervals"]
    assert all(list(PAGE[what]) == names for what in ("source", "launch", "given", "expected"))


@pytest.mark.parametrize("name", PAGE["source"])
def test_the_cure_alone_takes_away_what_the_sanitizer_finds(name):
    want, kinds = PAGE["expected"][name], []
    for launch, version in zip(PAGE["launch"][name], faults.VERSIONS):
        out = np.zeros_like(want)
        args = *PAGE["given"][name], out
        kernel = Kernel(PAGE["source"][name], name, faults.options(version))
        found = kernel.sanitize(*launch, args, uninitialised=(len(args) - 1,))
        kinds.append({one.kind for one in found})
    np.testing.assert_allclose(out, want, rtol=1e-6)
    assert kinds[0] and not kinds[1]


@pytest.mark.parametrize("name, wrong", [("softmax", 0), ("intervals", 3)])
def test_wrong_launches_are_counted(name, wrong, monkeypatch):
    """With NumPy and the interpreter in the place of CuPy."""
    known = PAGE["source"][name]

    class Module:
        def load(self, code):
            assert code.startswith(b"\x7fELF")

        def get_function(self, name):
            def launch(grid, block, args):
                kernel(*grid, *block, args, device="interpreter")

            return launch

    cupy = SimpleNamespace(
        ndarray=(),
        __spec__=importlib.machinery.ModuleSpec("cupy", None),
        cuda=SimpleNamespace(
            set_allocator=lambda none: None, function=SimpleNamespace(Module=Module)
        ),
        asarray=np.asarray,
        asnumpy=np.asarray,
        empty=np.empty,
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(gpu, "arch", lambda: "sm_90")
    for version, count in zip(faults.VERSIONS, (wrong, 0)):
        kernel = Kernel(known, name, faults.options(version))
        assert faults.launches(name, version, 3, written=True) == count


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_the_record_is_of_the_pages_kernels(path):
    recorded = json.loads(path.read_text(encoding="utf-8"))["faults"]
    sources = {name: hashlib.sha256(x.encode()).hexdigest() for name, x in PAGE["source"].items()}
    assert {name: one["source"] for name, one in recorded.items()} == sources


def test_what_is_measured_is_what_the_page_shows(monkeypatch, tmp_path):
    seen = {"racecheck": TOOL | {"errors": 2, "lines": [16]}, "memcheck": TOOL}
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(faults.shutil, "which", lambda name: name)
    monkeypatch.setattr(faults, "launches", lambda name, version, count, written: count // 4)
    monkeypatch.setattr(faults, "sanitized", lambda name, version: seen)
    monkeypatch.setattr(faults, "version", lambda: "2026.1")
    monkeypatch.setattr(faults, "provenance", lambda **more: {"gpu": "a made-up GPU", **more})
    faults.main([str(tmp_path / "kernels" / "records" / "made_up" / "faults.json")])
    names = {"root": tmp_path}
    for cell in nbformat.read(faults.PAGE, as_version=4).cells[2:]:
        if cell.cell_type == "code" and "report(" not in cell.source.split("\n")[-1]:
            exec(cell.source, names)
    seen = "250 of 1000 launches wrong", ["racecheck: 2 errors"]
    assert names["on_gpu"]("softmax", 0) == seen
    assert "a made-up GPU" in str(names["report"]("last_warp"))
