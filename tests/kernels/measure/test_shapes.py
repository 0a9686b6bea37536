"""benchmarks/shapes.py, with a simulated GPU: what it times, prints and records."""

import importlib
import json
import math
import sys
import types
from pathlib import Path

import pytest

import kernels
from anywarp import gpu
from kernels import records
from tests.stand_in import SimulatedGPU

sys.path.insert(0, str(Path(kernels.__file__).parents[1] / "benchmarks"))
shapes = importlib.import_module("shapes")


def test_tensor_cores_are_for_large_products():
    every, large = (shapes.wanted(2026, 64, tensor_cores) for tensor_cores in (False, True))
    assert len(every) == 64 and len(large) == 27
    assert large == [shape for shape in every if math.prod(shape) >= 2**27]


def test_the_mean_is_geometric():
    found = [{"us": 2.0, "cublas_us": 1.0}, {"us": 1.0, "cublas_us": 8.0}]
    assert shapes.summary(found) == "geometric mean 2.000, worst 0.500, of 2 shapes"


@pytest.mark.parametrize("options", [[], ["--tensor-cores"]])
def test_it_times_what_sgemm_chooses_beside_cublas(monkeypatch, capsys, tmp_path, options):
    simulated = SimulatedGPU(monkeypatch)
    simulated.ms |= {"plain": 0.5, "tensor": 0.25}
    monkeypatch.setattr(shapes, "LARGE", 64**3)
    monkeypatch.setattr(shapes.splits, "drawn", lambda seed, count: [(8, 8, 8), (64, 64, 64)])

    def sgemm(A, B, C, tensor_cores):
        C[:] = A @ B
        simulated.run("tensor" if tensor_cores else "plain")

    def plan(A, B, C, tensor_cores):
        return types.SimpleNamespace(step=kernels.step(21 if tensor_cores else 18))

    sgemm.plan = plan
    monkeypatch.setattr(kernels, "sgemm", sgemm)
    path = tmp_path / "shapes.json"
    shapes.main([*options, "--output", str(path)])
    *_, last = capsys.readouterr().out.splitlines()
    assert last == (
        "geometric mean 4.000, worst 4.000, of 1 shapes"
        if options
        else "geometric mean 2.000, worst 2.000, of 2 shapes"
    )
    found = json.loads(path.read_text())
    assert found["provenance"]["tensor_cores"] == bool(options)
    assert found["shapes"][-1] == {"M": 64, "N": 64, "K": 64} | (
        {"us": 250.0, "cublas_us": 1000.0, "step": "21_warpgroups"}
        if options
        else {"us": 500.0, "cublas_us": 1000.0, "step": "18_split_k"}
    )


def test_a_wrong_product_is_found(monkeypatch):
    SimulatedGPU(monkeypatch)
    monkeypatch.setattr(shapes.splits, "drawn", lambda seed, count: [(8, 8, 8)])
    monkeypatch.setattr(kernels, "sgemm", lambda A, B, C, tensor_cores: C.fill(0))
    with pytest.raises(kernels.CheckError):
        shapes.main([])


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "there is none")
    with pytest.raises(gpu.NoGPU, match="there is none"):
        shapes.main([])


@pytest.mark.parametrize("of", [("NVIDIA H200",), (records.SAME_SM,), (records.SAME_SM, True)])
def test_what_was_recorded_was_drawn(of):
    found = records.shapes(*of)
    there = [(one["M"], one["N"], one["K"]) for one in found["shapes"]]
    assert there == shapes.wanted(found["provenance"]["seed"], 64, of[1:] == (True,))
