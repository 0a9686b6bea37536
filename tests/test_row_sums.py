"""book/triton.ipynb: the stored PTX is what Triton makes of the page's kernel, and is timed."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from anywarp import Kernel, gpu
from benchmarks import row_sums
from kernels.records import FOLDER


class OnTheHost:
    """What `measure` asks of CuPy, by NumPy and the interpreter."""

    ndarray = ()  # no array is of CuPy

    class Event:
        def record(self) -> None: ...

        def synchronize(self) -> None: ...

    def __init__(self) -> None:
        self.asnumpy, self.empty, self.float32, self.int8 = np.asarray, np.empty, "f4", "i1"
        self.random = SimpleNamespace(default_rng=np.random.default_rng)
        self.cuda = SimpleNamespace(Event=self.Event, get_elapsed_time=lambda start, end: 0.25)

    def RawModule(self, path: str) -> SimpleNamespace:
        with open(path, encoding="utf-8") as file:
            kernel = Kernel.from_ptx(file.read())

        def launch(grid, block, args, shared_mem):
            kernel(grid, block, args, shared_mem=shared_mem, device="interpreter")

        return SimpleNamespace(get_function=lambda name: launch)


def test_both_are_timed_and_right(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", OnTheHost())
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(row_sums, "provenance", lambda **more: more)
    monkeypatch.setattr(row_sums, "ROWS", 96)
    monkeypatch.setattr(row_sums, "COLUMNS", 64)
    row_sums.main([str(tmp_path / "row_sums.json")])
    record = json.loads((tmp_path / "row_sums.json").read_text())
    steady = {"p10": 250, "median": 250, "p90": 250}
    assert record["us"] == {"before": steady, "after": steady}


@pytest.mark.parametrize("version", row_sums.VERSIONS)
def test_the_stored_ptx_is_what_triton_makes(version):
    known = row_sums.page()
    if not known["installed"]():
        pytest.skip("the Triton that the page names is not installed")
    made = row_sums.compiled(version)
    text = row_sums.stored(version).read_text(encoding="utf-8")
    assert text == f"// shared {made.shared_mem}\n{row_sums.portable(made.kernel.ptx)}\n"


@pytest.mark.parametrize("version, sectors", [("before", 32), ("after", 4)])
def test_the_page_takes_what_is_stored(version, sectors, monkeypatch):
    known = row_sums.page()
    types = {x: kind for x, kind in row_sums.TYPES.items() if x not in row_sums.VERSIONS[version]}
    kernel = known["stored"]("row_sums", types, row_sums.VERSIONS[version])
    x, y = np.ones((64, 64), np.float32), np.zeros(64, np.float32)
    args = (x, y, 64, 1, 64) if version == "before" else (x, y, 64, 64)
    costs = kernel.trace(2, args).costs
    ((place, cost),) = ((place, cost) for place, cost in costs.items() if place.array == "x")
    assert known["program"].splitlines()[place.line - 1].strip() == "total += tl.load(x + at)"
    assert cost.sectors == sectors * cost.requests and (y == 64).all()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/row_sums.json")), ids=str)
def test_the_record_is_of_the_pages_matrix(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["rows"], record["columns"]) == (row_sums.ROWS, row_sums.COLUMNS)
    assert list(record["us"]) == list(row_sums.VERSIONS)
