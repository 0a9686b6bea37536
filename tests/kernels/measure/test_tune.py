"""kernels.measure.tune, with a simulated GPU whose times are made up."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import kernels
from anywarp import gpu
from anywarp.build import Resources
from kernels import __main__ as cli, records
from kernels.analysis.reference import CheckError
from kernels.measure import bench, splits, tune
from kernels.measure.tune import halving, plan, prepared, summary, too_much
from kernels.records import Results
from tests.stand_in import SimulatedGPU

# ---------------------------------------------------------------------- successive halving


def test_fewer_are_timed_more_often():
    assert plan(3) == [(3, 20)]
    assert plan(4) == [(4, 20)]
    assert plan(100) == [(100, 1), (25, 2), (6, 4), (4, 20)]


def timer(ms, log=None):
    def time(labels, repeats, seconds):
        (log if log is not None else []).append((len(labels), repeats))
        return [[next(ms[label]) for _ in range(repeats)] for label in labels]

    return time


def test_the_fastest_come_first_and_every_time_is_kept():
    ms = {f"c{n}": itertools.repeat(1.0 + 7 * n % 50) for n in range(50)}
    log = []
    found = halving(list(ms), timer(ms, log))
    assert log == plan(50)
    assert list(found)[:4] == ["c0", "c43", "c36", "c29"]  # 1, 2, 3, 4
    assert len(found) == 50 and len(found["c0"]) == 1 + 2 + 20
    assert sorted({len(times) for times in found.values()}) == [1, 3, 23]


def test_one_slow_launch_is_no_verdict():
    """The best has one time in eight that is ten times as long."""
    ms = {f"c{n}": itertools.repeat(2.0 + n) for n in range(30)}
    ms["best"] = itertools.cycle([1.0] * 7 + [10.0])
    assert next(iter(halving(list(ms), timer(ms)))) == "best"


# ---------------------------------------------------------------------- what is left out


def test_what_spills_or_does_not_fit_is_left_out():
    fine, spilling = Resources(128, 0, 0, 0, 1024), Resources(255, 40, 36, 44, 0)
    assert too_much([fine], 1024, 2048) is None
    assert too_much([fine, spilling], 0, 2048) == "spills 36 bytes of registers"
    assert too_much([fine, Resources(255, 40, 32, 40, 0)], 0, 2048) is None
    assert too_much([fine], 1025, 2048) == (
        "wants 2049 bytes of shared memory, the GPU allows 2048"
    )


def test_candidates_are_compiled_side_by_side_or_refused_in_the_steps_words(simulated):
    right = kernels.step("17 BM=32 BN=64 TM=4 TN=4 WM=16 WN=32")
    wrong, deep = kernels.step("17 WM=64"), kernels.step("17 STAGES=30")
    able, left_out = prepared([wrong, right, deep], 2)
    assert able == [right]
    assert left_out == (
        f"{wrong.label}: it does not compile: a warp has 32 lanes",
        f"{deep.label}: it needs {deep.shared_mem} bytes of shared memory in a block, "
        f"and the Simulated GPU 1 has {227 * 1024}",
    )


def test_a_gpu_that_can_run_no_candidate_is_told_at_once(simulated, monkeypatch, tmp_path):
    simulated.be("7.5")
    monkeypatch.setattr(tune, "ProcessPoolExecutor", None)  # nothing is compiled
    with pytest.raises(gpu.NoGPU, match="can run no candidate: 17_tile_space: it needs a GPU of"):
        tune.tune(STEPS, output=tmp_path / "tune.json")


# ---------------------------------------------------------------------- the search


class Searched(SimulatedGPU):
    """It runs step 17, of whose labels `ms` has the times."""

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch, shared_bytes_per_block=227 * 1024)
        monkeypatch.setattr(bench, "loaded_of", lambda step: {"sgemm": step.label})

    def launch(self, kernel, grid, block, args, shared_mem=0):
        symbol = getattr(kernel, "symbol", kernel)
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
SHAPES = [(96, 64, 32), (32, 32, 32)]


@pytest.fixture
def timed(simulated, monkeypatch):
    simulated.ms |= {step.label: 3.0 + n for n, step in enumerate(STEPS)}
    simulated.ms[STEPS[5].label] = 0.5
    monkeypatch.setattr(tune, "prepared", lambda steps, jobs: (list(steps), ("x: it spills",)))
    return simulated


def test_a_record_of_each_candidate_and_shape(timed, tmp_path, monkeypatch):
    monkeypatch.setenv(records.OWN, str(tmp_path))
    searched = tune.tune(STEPS, SHAPES)
    assert {(r.step, r.M, r.N, r.K) for r in searched.records} == {
        (name, *shape) for shape in SHAPES for name in ["cublas", *(x.label for x in STEPS)]
    }
    assert [(r.step, r.M) for r in searched.records[:2]] == [("cublas", 32), (STEPS[5].label, 32)]
    for shape in SHAPES:
        best = searched.best(shape)
        assert (best.step, best.ms, best.repeats) == (STEPS[5].label, 0.5, 21)
        assert searched.share_of_cublas(best) == pytest.approx(2)
        assert searched.find(STEPS[8], shape).repeats == 1
    assert searched.left_out == ("x: it spills",)
    assert "successive halving" in searched.provenance["protocol"]["rounds"]
    assert records.tuned("Simulated GPU 1") == searched  # read where it is kept
    assert summary(searched).splitlines()[0] == "Simulated GPU 1: 9 candidates timed, 1 left out"
    assert summary(searched).splitlines()[1].endswith(f"200.0% of cuBLAS  {STEPS[5].label}")


def test_a_workspace_that_is_too_large_is_left_out(timed, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "WORKSPACE", -(2**40))
    searched = tune.tune(STEPS[:1], SHAPES, tmp_path / "tune.json")
    assert searched.left_out[1] == "17_tile_space at 32 x 32 x 32: its workspace has 0 bytes"


def test_a_wrong_winner_is_an_error(timed, tmp_path):
    """Though it was right before, at a smaller shape, where each is checked once."""
    at = {"rows": 0}

    def wrong(name, C):
        if name == STEPS[5].label and len(C) == at["rows"]:
            C[3, 4] = np.nan

    timed.wrong = wrong
    for at["rows"], shape in ((32, "32 x 32 x 32"), (96, "96 x 64 x 32")):
        with pytest.raises(CheckError, match=rf"{STEPS[5].label} at {shape}: C\[3, "):
            tune.tune(STEPS, SHAPES, tmp_path / "tune.json")


def test_what_was_there_of_others_stays(timed, tmp_path):
    path = tmp_path / "tune.json"
    tune.tune(STEPS[:3], SHAPES, path)
    tune.tune(STEPS[3:5], SHAPES[:1], path)
    assert {(r.step, r.M) for r in Results.load(path).records} == {
        *((name, M) for name in ("cublas", *(x.label for x in STEPS[:3])) for M in (32, 96)),
        *((step.label, 96) for step in STEPS[3:5]),
    }


def test_without_a_gpu_there_is_nothing_to_search(monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda: "it is on holiday")
    with pytest.raises(gpu.NoGPU, match="on holiday"):
        tune.tune(STEPS)


@pytest.fixture
def commanded(timed, monkeypatch):
    """What the command searches and fits."""
    done = {}

    def searched(steps, shapes, output, jobs):
        done["searched"] = steps[0].id, shapes
        return Results({"gpu": "Simulated GPU 1", "date": ""}, 1.0, 1.0)

    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setattr(tune, "tune", searched)
    monkeypatch.setattr(splits, "record", lambda *options: done.update(fitted=options))
    return done


@pytest.mark.parametrize(
    "words, asked",
    [
        ([], {"searched": ("17_tile_space", []), "fitted": ([], None, None)}),
        (["17", "--json"], {"searched": ("17_tile_space", [])}),
        (["18", "--sizes", "64", "1x2x3", "--jobs", "2"],
         {"fitted": ([(64, 64, 64), (1, 2, 3)], None, 2)}),
    ],
)  # fmt: skip
def test_the_command_searches_and_fits(commanded, capsys, words, asked):
    """Of step 18 it fits the model that sgemm reads."""
    assert cli.main(["tune", *words]) == 0
    assert commanded == asked
    if "--json" in words:
        assert json.loads(capsys.readouterr().out)["records"] == []


def test_an_older_gpu_fits_the_model_alone(timed, commanded, capsys):
    timed.be("7.5")
    assert cli.main(["tune"]) == 0
    assert list(commanded) == ["fitted"]
    assert "17_tile_space is left out: it needs a GPU of compute c" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, message",
    [
        (["02"], "02_naive"),
        (["17", "18", "--output", "x.json"], "18_split_k has a record of its own"),
        (["99"], "no step '99'"),
        (["18", "--sizes", "64"], "shapes of the model are not in"),
        (["18", "--json"], "--json goes with 17_tile_space"),
    ],
)
def test_the_command_refuses(timed, capsys, monkeypatch, tmp_path, words, message):
    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setenv(records.OWN, str(tmp_path))
    with pytest.raises(SystemExit) as stopped:
        cli.main(["tune", *words])
    assert stopped.value.code == 2 and message in capsys.readouterr().err
