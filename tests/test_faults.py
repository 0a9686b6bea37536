"""book/faults.ipynb and benchmarks.faults, which runs the page's kernels on a GPU."""

from __future__ import annotations

import hashlib
import json

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
    assert names["on_gpu"]("softmax", 0) == (
        "250 of 1000 launches wrong",
        ["racecheck: 2 errors, 0 warnings"],
    )
    assert "a made-up GPU" in str(names["report"]("last_warp"))
