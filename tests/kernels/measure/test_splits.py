"""kernels.measure.splits, with a simulated GPU that takes as long as the formula says."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace

import numpy as np
import pytest

import kernels
from kernels import records
from kernels.analysis.duration import Costs, Tile, microseconds
from kernels.analysis.reference import assert_close
from kernels.ladder import model
from kernels.ladder.step import with_variants
from kernels.measure import bench, splits
from tests.stand_in import SimulatedGPU

GPU = Costs(132, 3.0, 2500.0, 1.5, 0.1, 0.2, 1.5, 0.91)
SMALL = "18_split_k BM=32 BN=32 BK=32 STAGES=3 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=4"
COSTS = {  # start, latency, step, ragged, cluster, pack
    "18_split_k": (2.0, 0.4, 0.2, 1.1, 0.5, 0.0),
    "21_warpgroups": (3.5, 1.0, 0.4, 1.05, 1.5, 2.0),
}
SHAPES = [(64, 64, 640), (32, 128, 64), (256, 64, 2048), (65, 65, 65), (512, 512, 512)]


class Formula(SimulatedGPU):
    """Its steps are those of the ladder, and take as long as the formula says."""

    def __init__(self, monkeypatch):
        facts = {"multiprocessors": 132, "memory_bytes": 2**37}
        super().__init__(monkeypatch, shared_bytes_per_block=227 * 1024, **facts)
        self.tile, self.products = functools.cache(splits.tile), []
        for module, name, other in (
            (splits, "tile", lambda step, *_: self.tile(step)),
            (splits, "prepared", lambda steps, jobs: (list(steps), ())),
            (bench, "loaded_of", lambda step: step),
            (bench, "launch_of", lambda step, _, matrix, C: lambda: self.product(step, matrix, C)),
            (model, "ways", lambda on: steps(*MAIN)),
            (model, "others", lambda on: {"21_warpgroups": steps(*OTHER)}),
        ):
            monkeypatch.setattr(module, name, other)

    def product(self, step, matrix, C):
        (M, N), K = C.shape, len(matrix("B", 0))
        if np.isnan(C[0, 0]):  # to be checked, not timed
            C[:] = matrix("A", 0) @ matrix("B", 0)
        known = self.tile(splits.base(step))
        costs = dict(zip(("start", "latency", "step", "ragged", "cluster", "pack"), COSTS[step.id]))
        us = microseconds(Tile(**known, **costs), GPU, splits.work(step, M, N, K))
        self.ms[step.label] = us / 1000
        self.products.append((step.label, (M, N, K)))
        self.run(step.label)


MAIN = (SMALL, f"{SMALL} SPLITS=4", f"{SMALL} SPLITS=4 CLUSTER=1", f"{SMALL} STREAM=528")
OTHER = ("21_warpgroups", "21_warpgroups SPLITS=2")


def steps(*labels):
    return [kernels.step(label) for label in labels]


@pytest.fixture
def simulated(monkeypatch):
    monkeypatch.setattr(splits, "drawn", lambda seed, count: SHAPES)
    monkeypatch.setattr(splits, "OTHERS", [])
    return Formula(monkeypatch)


def forget():
    for cache in (model._way, model._near, model._costs, model._sections, model._own):
        cache.cache_clear()


def test_a_section_for_each_step_in_rounds_of_its_own(simulated, tmp_path, monkeypatch):
    rounds, together = bench.rounds, set()

    def recorded(works, *rest, **more):
        simulated.log.clear()
        times = rounds(works, *rest, **more)
        together.add(frozenset(name[:2] for name in simulated.log if name[0] in "12c"))
        return times

    monkeypatch.setattr(bench, "rounds", recorded)
    fit, known = splits.fit, []  # the GPU's costs, as each fit is told them
    monkeypatch.setattr(splits, "fit", lambda *args: known.append(args[-1]) or fit(*args))
    monkeypatch.setenv(records.OWN, str(tmp_path))
    path = splits.record()
    assert path == tmp_path / "simulated_gpu_1" / records.MODEL
    pairs = {frozenset({"cu", "18"}), frozenset({"cu", "21"})}
    assert pairs == {names for names in together if len(names) > 1}
    whole = json.loads(path.read_text())
    own = whole["others"]["21_warpgroups"]
    assert [costs and costs._asdict() for costs in known] == [None, whole["costs"]]
    assert whole["labels"] == [step.label for step in steps(*MAIN)]
    assert own["labels"] == list(OTHER)
    assert own["shapes"] == whole["shapes"] == [list(shape) for shape in SHAPES]
    assert own["cublas_us"] == len(SHAPES) * [1000.0]
    assert whole["error"] < 0.05 and own["error"] < 0.05
    # what is read of it predicts what was timed
    here = model.Gpu("Simulated GPU 1", 132)
    forget()
    try:
        for section in (whole, own):
            for shape, times in zip(section["shapes"], section["us"]):
                for label, us in zip(section["labels"], times):
                    if us is not None:
                        said = 1e6 * model.predicted(label, *shape, on=here)
                        assert said == pytest.approx(us, rel=0.15), (label, shape)
    finally:
        forget()


def test_more_sizes_are_added_to_what_was_timed(simulated, tmp_path):
    """And the model is fitted to all of it."""
    path = tmp_path / "model.json"
    with pytest.raises(ValueError, match="5 of the 5 shapes of the model are not in .*ways.json"):
        splits.record([(96, 96, 96)], path)
    assert not path.exists()
    splits.record([], path)
    simulated.products.clear()
    splits.record([(96, 96, 96)], path)
    assert {shape for _, shape in simulated.products} == {(96, 96, 96)}
    whole = json.loads(path.read_text())
    assert {tuple(shape) for shape in whole["shapes"]} == {*SHAPES, (96, 96, 96)}


def test_an_interrupted_run_is_taken_up_where_it_stopped(simulated, tmp_path, monkeypatch):
    path, product = tmp_path / "model.json", simulated.product

    def stop(step, matrix, C):
        if C.shape == (256, 64):
            raise KeyboardInterrupt
        product(step, matrix, C)

    simulated.product = stop
    with pytest.raises(KeyboardInterrupt):
        splits.record([], path)
    assert not path.exists()
    simulated.product = product
    simulated.products.clear()
    splits.record([], path)
    assert {shape for _, shape in simulated.products} == set(SHAPES[2:])
    assert len(json.loads(path.read_text())["shapes"]) == len(SHAPES)


def test_what_is_hopeless_is_timed_once():
    ms = {"fast": 1.0, "near": 2.5, "hopeless": 2.51}
    samples = splits.likely(list(ms), lambda labels, n, _: [n * [ms[label]] for label in labels])
    assert {label: len(times) for label, times in samples.items()} == {
        "fast": splits.ROUNDS, "near": splits.ROUNDS, "hopeless": 1
    }  # fmt: skip
    r = [records.Record(x, 8, 8, 8, y[0], 0, 0, len(y), 1.0) for x, y in samples.items()]
    steps = [SimpleNamespace(label=x, defines={}) for x in ms]
    rows = splits.table(steps, records.Results({}, 1, 1, tuple(r)))
    assert rows["us"] == [[1000.0, 2500.0, None]] and rows["cublas_us"] == [1000.0]
    steps[0].defines["LEAST_K"] = 9
    assert splits.table(steps, records.Results({}, 1, 1, tuple(r)))["us"] == [[None, 2500.0, None]]


DECLARED = {one.label for one in with_variants(kernels.steps())}
NEW = [one for of_step in model.others().values() for one in of_step if one.label not in DECLARED]


@pytest.mark.slow
@pytest.mark.parametrize("one", NEW, ids=lambda one: one.label)
def test_what_sgemm_may_choose_and_no_file_declares_is_right(one):
    assert splits.tile(one)["resident"] >= 1
    A, B, _ = kernels.inputs(67, 71, 73)
    assert_close(one(A, B, device="interpreter"), A, B)
