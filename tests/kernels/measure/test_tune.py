"""kernels.measure.tune, with a simulated GPU whose times are made up."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from test_bench import SimulatedGPU

import kernels
from anywarp import gpu
from anywarp.build import Resources
from kernels import __main__ as cli, records
from kernels.analysis.reference import CheckError
from kernels.ladder import model
from kernels.measure import splits, tune
from kernels.measure.tune import Compiled, compiled, halving, plan, search, summary, unfit
from kernels.records import Results

# ---------------------------------------------------------------------- successive halving


def test_fewer_are_timed_more_often():
    assert plan(3) == [(3, 20)]
    assert plan(4) == [(4, 20)]
    assert plan(100) == [(100, 1), (25, 2), (6, 4), (4, 20)]


def timer(ms, log=None):
    def time(labels, repeats):
        if log is not None:
            log.append((len(labels), repeats))
        return [[next(ms[label]) for _ in range(repeats)] for label in labels]

    return time


def constant(value):
    while True:
        yield value


def test_the_fastest_come_first_and_every_time_is_kept():
    ms = {f"c{n}": constant(float(1 + (7 * n) % 50)) for n in range(50)}
    log = []
    found = halving(list(ms), timer(ms, log))
    assert log == plan(50)
    assert list(found)[:4] == ["c0", "c43", "c36", "c29"]  # 1, 2, 3, 4
    assert len(found) == 50 and len(found["c0"]) == 1 + 2 + 20
    assert sorted({len(times) for times in found.values()}) == [1, 3, 23]


def test_one_slow_launch_is_no_verdict():
    """The best has one time in eight that is ten times as long."""

    def unsteady():
        while True:
            yield from [1.0] * 7 + [10.0]

    ms = {f"c{n}": constant(2.0 + n) for n in range(30)} | {"best": unsteady()}
    assert next(iter(halving(list(ms), timer(ms)))) == "best"


# ---------------------------------------------------------------------- what is left out

FINE = Resources(registers=128, stack=0, spill_stores=0, spill_loads=0, shared=1024)


def test_what_spills_or_does_not_fit_is_left_out():
    spilling = Resources(255, 40, 36, 44, 0)
    assert unfit(Compiled(b"", {}, [FINE]), 1024, 2048) is None
    assert unfit(Compiled(b"", {}, [FINE, spilling]), 0, 2048) == "spills 36 bytes of registers"
    assert unfit(Compiled(b"", {}, [FINE]), 1025, 2048) == (
        "wants 2049 bytes of shared memory, the GPU allows 2048"
    )


def test_candidates_are_compiled_side_by_side_or_refused_in_the_steps_words():
    right = kernels.step("17 BM=32 BN=64 TM=4 TN=4 WM=16 WN=32")
    wrong = kernels.step("17 WM=64")
    deep = kernels.step("17 STAGES=40")
    found = compiled([wrong, right, deep], "sm_90", 2)
    assert list(found) == [wrong.label, right.label, deep.label]
    assert found[wrong.label] == "a warp has 32 lanes"
    assert found[deep.label] == "a block may share 227 KiB"
    own = found[right.label]
    assert own.cubin.startswith(b"\x7fELF") and own.symbols == {"sgemm": "sgemm"}
    assert 0 < own.resources[0].registers < 128


# ---------------------------------------------------------------------- the search


class Searched(SimulatedGPU):
    """It runs step 17: kernels are loaded by their labels, of which `ms` has the times."""

    shared_bytes = 227 * 1024

    def device(self):
        return replace(super().device(), shared_bytes_per_block=self.shared_bytes)

    def load(self, cubin, symbol):
        return symbol

    def launch(self, symbol, grid, block, args, shared_mem=0):
        if len(args) == 11:
            M, N, K, alpha, A, B, beta, C, lda, ldb, ldc = args
            assert (alpha, beta, lda, ldb, ldc) == (1, 0, K, N, N)
            C[:] = A @ B
            self.wrong(symbol, C)
        self.run(symbol)


@pytest.fixture
def simulated(monkeypatch):
    return Searched(monkeypatch)


LABELS = [f"17_tile_space BM={bm} STAGES={s}" for bm in (64, 256) for s in (3, 5, 6, 7)]
STEPS = [kernels.step("17"), *(kernels.step(label) for label in LABELS)]
BUILT = {one.label: Compiled(b"\x7fELF", {"sgemm": one.label}, [FINE]) for one in STEPS}
SHAPES = [(96, 64, 32), (32, 32, 32)]


@pytest.fixture
def timed(simulated, monkeypatch):
    simulated.ms |= {one.label: 3.0 + n for n, one in enumerate(STEPS)}
    simulated.ms[STEPS[5].label] = 0.5
    return simulated


def test_a_record_of_each_candidate_and_shape(timed, tmp_path):
    path = tmp_path / "tune.json"
    found = search(STEPS, BUILT, SHAPES, path)
    assert [(r.step, r.M) for r in found.records[:2]] == [("cublas", 32), (STEPS[5].label, 32)]
    assert {(r.step, r.M, r.N, r.K) for r in found.records} == {
        (name, *shape) for shape in SHAPES for name in ["cublas", *BUILT]
    }
    for shape in SHAPES:
        best = found.best(shape)
        assert (best.step, best.ms, best.repeats) == (STEPS[5].label, 0.5, 21)
        assert found.share_of_cublas(best) == pytest.approx(2)
        assert found.find(STEPS[8], shape).repeats == 1
    assert found.left_out == () and "successive halving" in found.provenance["protocol"]["rounds"]
    assert Results.load(path) == found
    assert all(kernels.step(r.step) in STEPS for r in found.records if r.step != "cublas")
    assert summary(found).splitlines()[0] == "Simulated GPU 1: 9 candidates timed, 0 left out"
    assert summary(found).splitlines()[1].endswith(f"200.0% of cuBLAS  {STEPS[5].label}")


def test_the_search_is_read_where_it_is_kept(timed, tmp_path, monkeypatch):
    where = lambda gpu_name, name: records.recorded_path(gpu_name, name, tmp_path)
    monkeypatch.setattr(tune, "recorded_path", where)
    found = search(STEPS, BUILT, SHAPES)
    assert records.tuned("Simulated GPU 1", tmp_path) == found
    with pytest.raises(ValueError, match="nothing is recorded for 'Another'.*Simulated GPU 1"):
        records.tuned("Another", tmp_path)


def test_what_cannot_run_is_left_out_with_its_reason(timed, tmp_path, monkeypatch):
    timed.shared_bytes = 64 * 1024
    built = BUILT | {STEPS[1].label: "a warp has 32 lanes"}
    path = tmp_path / "tune.json"
    found = search(STEPS, built, SHAPES, path)
    assert f"{STEPS[1].label}: a warp has 32 lanes" in found.left_out
    large = {text.partition(": ")[0] for text in found.left_out if "shared memory" in text}
    assert large == {
        one.label for one in STEPS if one.shared_mem + FINE.shared > timed.shared_bytes
    }
    assert len({r.step for r in found.records}) == 1 + len(STEPS) - len(found.left_out)
    timed.shared_bytes = 227 * 1024
    monkeypatch.setattr(tune, "WORKSPACE", -1)
    found = search(STEPS[:1], built, SHAPES, path)
    assert found.left_out[0] == "17_tile_space at 32 x 32 x 32: its workspace has 0 bytes"
    with pytest.raises(gpu.NoGPU, match="no candidate can be run here: .*: a warp has 32 lanes"):
        search(STEPS[1:2], built, SHAPES, path)


def test_a_wrong_winner_is_an_error(timed, tmp_path):
    def wrong(name, C):
        if name == STEPS[5].label:
            C[3, 4] = np.nan

    timed.wrong = wrong
    with pytest.raises(CheckError, match=rf"{STEPS[5].label} at 32 x 32 x 32: C\[3, 4\] is nan"):
        search(STEPS, BUILT, SHAPES, tmp_path / "tune.json")


def test_merge_keeps_what_was_there_of_others(timed, tmp_path):
    path = tmp_path / "tune.json"
    search(STEPS[:3], BUILT, SHAPES, path)
    search(STEPS[3:5], BUILT, SHAPES[:1], path, merge=True)
    there = {(r.step, r.M) for r in Results.load(path).records}
    assert there == {
        *((name, M) for name in ("cublas", *(one.label for one in STEPS[:3])) for M in (32, 96)),
        *((one.label, 96) for one in STEPS[3:5]),
    }


def test_without_a_gpu_there_is_nothing_to_search(monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "it is on holiday")
    with pytest.raises(gpu.NoGPU, match="on holiday"):
        tune.tune(STEPS)


def test_command_line(timed, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tune, "compiled", lambda steps, arch, jobs: BUILT)
    path = tmp_path / "tune.json"
    assert tune.run_cli(STEPS, SHAPES, path, False, 1, True) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text())
    assert tune.run_cli(STEPS, SHAPES, path, False, 1, False) == 0
    assert "9 candidates timed" in capsys.readouterr().out
    timed.wrong = lambda name, C: C.fill(0)
    assert tune.run_cli(STEPS, SHAPES, path, False, 1, False) == 1
    assert "error: 17_tile_space" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, searched, fitted",
    [
        ([], True, True),
        (["17"], True, False),
        (["18", "--sizes", "64", "1x2x3"], False, [(64, 64, 64), (1, 2, 3)]),
    ],
)
def test_the_command_searches_and_fits(timed, monkeypatch, words, searched, fitted):
    """Of step 18 it fits the model that sgemm reads."""
    done = {}

    def run_cli(steps, shapes, *rest):
        done["searched"] = steps[0].id, shapes == [(size,) * 3 for size in tune.SIZES]
        return 0

    def record(steps, others, shapes, output):
        done["fitted"] = {one.id for one in steps}, shapes, output
        assert list(others) == list(model.OTHERS)

    monkeypatch.setattr(tune, "run_cli", run_cli)
    monkeypatch.setattr(splits, "record", record)
    assert cli.main(["tune", *words]) == 0
    assert ("searched" in done) == searched and ("fitted" in done) == bool(fitted)
    if searched:
        assert done["searched"] == ("17_tile_space", True)
    if fitted:
        ids, shapes, output = done["fitted"]
        assert ids == {"18_split_k"} and shapes == ([] if fitted is True else fitted)
        assert output == records.recorded_path("Simulated GPU 1", records.MODEL)


@pytest.mark.parametrize(
    "words, message",
    [
        (["02"], "02_naive"),
        (["17", "18", "--output", "x.json"], "18_split_k has a record of its own"),
        (["99"], "no step '99'"),
        (["18", "--merge"], "--merge goes with 17_tile_space"),
        (["18", "--jobs", "2"], "--jobs goes with 17_tile_space"),
        (["18", "--json"], "--json goes with 17_tile_space"),
    ],
)
def test_the_command_refuses(timed, capsys, words, message):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["tune", *words])
    assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_sgemm_reads_what_was_fitted_here(monkeypatch):
    """The model of such a GPU, where there is one; else that of the recorded one."""
    models = {
        "NVIDIA H200": {"of": "NVIDIA H200"},
        "GPU 2": {"of": "GPU 2", "provenance": {"multiprocessors": 40}},
    }

    def read(name):
        if name not in models:
            raise ValueError("nothing is recorded")
        return models[name]

    monkeypatch.setattr(records, "model", read)
    found = model._record.__wrapped__
    for name, multiprocessors, of in (
        ("GPU 1", 40, "NVIDIA H200"),
        ("GPU 2", 40, "GPU 2"),
        ("GPU 2", 20, "NVIDIA H200"),  # half of it
    ):
        assert found(model.Gpu(name, multiprocessors))["of"] == of
