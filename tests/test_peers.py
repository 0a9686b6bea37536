"""benchmarks.peers: the same product in other languages, as it is stored, timed and recorded."""

from __future__ import annotations

import functools
import itertools
import json
import re

import numpy as np
import pytest
from stand_in import StandIn

import kernels
from anywarp import Kernel
from benchmarks import peers
from kernels.measure import bench, cublas
from kernels.records import CUBLAS, FOLDER

MEASURED = sorted(FOLDER.glob(f"*/{peers.RECORD}"))
N = 256
A, B = (np.random.default_rng(seed).uniform(-1, 1, (N, N)).astype(np.float32) for seed in (0, 1))


@functools.cache
def traced(name):
    """C of the stored PTX, and its trace."""
    ptx = peers.page_of(name).read_text(encoding="utf-8")
    about = json.loads(ptx.partition("\n")[0].removeprefix("//"))
    C = np.full_like(A, np.nan)
    args = [
        np.zeros(1, np.uint8) if x is peers.NULL and name.startswith("triton") else x
        for x in peers.arguments(name, A, B, C, N)
    ]
    grid = peers.grid(name, about["tile"], N)
    shared = about["shared"]
    return C, Kernel.from_ptx(ptx).trace(grid, about["threads"], args, shared_mem=shared)


def in_order(product):
    """Sums over k in order, of which `product(a, b, total)` adds one."""
    total = np.zeros_like(A)
    for k in range(N):
        total = product(A[:, k : k + 1], B[k : k + 1], total)
    return total


def fma(a, b, total):
    """Rounded once: float64 holds the product, and here the sum but for a last bit or none."""
    return (np.float64(a) * np.float64(b) + total).astype(np.float32)


@pytest.mark.parametrize("name", peers.STORED)
def test_the_stored_ptx_multiplies(name):
    C, trace = traced(name)
    error = abs(C - A.astype(np.float64) @ B) / (np.float64(abs(A)) @ abs(B)) * 2**24
    assert error.max() < 6
    fmas = trace.counters[kernels.metrics.FFMA]
    if name == "cutile":  # rounds each product, and sums a slice before it adds that
        assert fmas == 0 and (C != in_order(fma)).mean() > 0.5 and error.max() < 1
    else:
        assert fmas == N**3 and np.array_equal(C, in_order(fma))


@pytest.mark.parametrize("name", peers.STORED)
def test_the_stored_ptx_is_what_its_compiler_makes(name):
    text = peers.page_of(name).read_text(encoding="utf-8")
    package, version = json.loads(text.partition("\n")[0].removeprefix("//"))["by"].split()
    assert package == peers.PEERS[name].package
    if peers.installed(package) != version:
        pytest.skip(f"needs {package} {version}")
    assert text == peers.stored(name)


def test_the_page_shows_the_program_of_cutile():
    cells = json.loads((peers.ROOT / "book" / "same_product.ipynb").read_text("utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    (shown,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert (peers.PROGRAMS / "product_cutile.py").read_text("utf-8").endswith(f"\n\n{shown}")


@pytest.mark.parametrize("path", MEASURED, ids=str)
def test_the_record_has_all_of_them_and_none_is_wrong(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    names = {*peers.PEERS, peers.CUTLASS, *peers.STEPS, CUBLAS} - {*peers.NOT_TIMED}
    rows = {(row["name"], row["size"]): row for row in record["products"]}
    assert set(rows) == set(itertools.product(names, peers.SIZES))
    for row in record["products"]:
        name = row["name"]
        assert row["ms_p10"] <= row["ms"] <= row["ms_p90"] and row["repeats"] >= bench.MIN_REPEATS
        # as float32, which loses some bits of a long sum; but cuTile's sums on tensor cores
        assert row["error"] < 7 or name == "cutile 2 tf32"
        if name in peers.PEERS:
            known = peers.PEERS[name].configurations
            assert row["configuration"] in {" ".join(map(str, one)) for one in known}
    for name, configuration in peers.STORED.items():
        if name not in ("cutile", *peers.NOT_TIMED):
            fastest = rows[name, 4096]["configuration"]
            assert fastest == " ".join(map(str, configuration))
    single = {row["error"] for (name, n), row in rows.items() if n == 4096 and name in FMA}
    assert len(single) == 1, "the same sums in the same order"


FMA = "cute", "numba", "triton ieee", "19_machine_code", CUBLAS


def made(*configurations):
    """What `compile` writes for a peer that does not exist."""
    one = {"code": "code", "symbol": "f", "tile": [128, 128], "block": 256, "shared": 0}
    candidates = [{**one, "configuration": words, "size": None} for words in configurations]
    return {"name": "numba", "version": "numba-cuda 0", "candidates": candidates}


class ByNumPy(StandIn):
    """A GPU whose kernels of peers are right, wrong, refused or slow, as their file says."""

    def load(self, cubin, symbol):
        if cubin == b"refused":
            raise RuntimeError("refused")
        return cubin

    def launch(self, kernel, grid, block, args, shared_mem=0):
        A, B, C = (x for x in args if isinstance(x, np.ndarray))
        assert (grid, block, shared_mem) == ((2, 2), (256,), 0)
        self.clock += 3 if kernel == b"slow" else 1
        np.matmul(A, B, out=C)
        if kernel == b"wrong":
            C[0, 0] += 1
        elif kernel == b"faulty":
            raise SystemExit(1)

    def by_cublas(self, A, B, C):
        self.clock += 2
        np.matmul(A, B, out=C)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    on = ByNumPy()
    on.install(monkeypatch.setattr)
    monkeypatch.setattr(cublas, "sgemm", on.by_cublas)
    monkeypatch.setattr(peers, "SIZES", (N,))
    said = made("right", "slow", "refused", "faulty", "wrong")
    for one in said["candidates"]:
        one["code"] = one["configuration"]
        (tmp_path / one["code"]).write_text(one["code"])
    (tmp_path / "numba.json").write_text(json.dumps(said))
    return tmp_path


class Process:
    """`attempt` in this process."""

    def __init__(self, command, capsys):
        self.command, self.capsys = command[3:], capsys

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def kill(self):
        pass

    def communicate(self):
        self.returncode = 0
        try:
            peers.main(self.command)
        except SystemExit as end:
            self.returncode = end.code
        return self.capsys.readouterr().out, "a fault"


def test_the_fastest_that_is_right_is_timed(folder, monkeypatch, capsys):
    start = functools.partial(Process, capsys=capsys)
    monkeypatch.setattr(peers.subprocess, "Popen", lambda command, **_: start(command))
    monkeypatch.setattr(peers, "STEPS", ())
    monkeypatch.setattr(peers, "provenance", lambda **more: more)
    monkeypatch.setattr(bench, "measure_roofs", lambda flush: (1.0, 1.0, 1.0))
    monkeypatch.setattr(bench, "MIN_SECONDS", 0)

    peers.main([str(folder), str(folder / "out.json")])
    record = json.loads((folder / "out.json").read_text())
    assert {name: peers.is_right(said) for name, said in record["attempts"].items()} == {
        "numba right": True,
        "numba slow": True,
        "numba refused": False,
        "numba faulty": False,
        "numba wrong": False,
    }
    assert record["attempts"]["numba faulty"] == "a fault"
    (row,) = (row for row in record["products"] if row["name"] == "numba")
    assert (row["configuration"], row["ms"], row["cublas_ms"], row["size"]) == ("right", 1, 2, N)
    assert record["provenance"]["versions"] == {"numba": "numba-cuda 0"}


def test_compile_writes_what_is_installed(monkeypatch, tmp_path):
    asked = []

    def compiled(size, side):
        asked.append((size, side))
        if side == 3:
            raise ValueError("refused")
        return peers.Made(b"code", "ptx", "f", (side, side), 32, 0)

    table = {"here": peers.Peer("numpy", compiled, [(2,), (3,)], sized=True)}
    monkeypatch.setattr(
        peers, "PEERS", table | {"not": peers.Peer("no-such-package", compiled, [])}
    )
    peers.main(["compile", str(tmp_path)])
    assert asked == list(itertools.product(peers.SIZES, (2, 3)))
    said = json.loads((tmp_path / "here.json").read_text())
    assert said["version"] == f"numpy {np.__version__}"
    assert [one["size"] for one in said["candidates"]] == list(peers.SIZES)
    assert all((tmp_path / one["code"]).read_bytes() == b"code" for one in said["candidates"])
    assert not (tmp_path / "not.json").exists()
