"""kernels.measure.splits, with a simulated GPU that takes as long as the formula says."""

from __future__ import annotations

import functools
import json
from dataclasses import replace

import pytest
from test_bench import SimulatedGPU

import kernels
from kernels import records
from kernels.analysis.duration import Costs, Tile, microseconds
from kernels.analysis.reference import assert_close
from kernels.ladder import model
from kernels.ladder.step import Step, with_variants
from kernels.measure import bench, splits

GPU = Costs(132, 3.0, 2500.0, 1.5, 0.1, 0.2, 1.5, 0.91)
SMALL = "18_split_k BM=32 BN=32 BK=32 STAGES=3 TM=4 TN=8 BLOCKS=4 WM=32 WN=32 SLICES=4"
COSTS = {  # start, latency, step, ragged, cluster, pack
    "18_split_k": (2.0, 0.4, 0.2, 1.1, 0.5, 0.0),
    "21_warpgroups": (3.5, 1.0, 0.4, 1.05, 1.5, 2.0),
}
SHAPES = [(64, 64, 640), (32, 128, 64), (256, 64, 2048), (65, 65, 65), (512, 512, 512)]


class Formula(SimulatedGPU):
    """Its steps are those of the ladder."""

    capability = (9, 0)

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.tile = functools.cache(splits.tile)
        monkeypatch.setattr(splits, "tile", lambda step, *_: self.tile(step))
        monkeypatch.setattr(Step, "run", lambda step, *args: self.product(step, *args))
        for module, name in ((splits, "LARGE"), (splits, "OTHERS")):
            monkeypatch.setattr(module, name, [])
        monkeypatch.setattr(splits, "_check", lambda step: None)

    def device(self):
        found = replace(super().device(), multiprocessors=132, shared_bytes_per_block=227 * 1024)
        return replace(found, compute_capability=self.capability)

    def product(self, step, M, N, K, *_):
        known = self.tile(splits.base(step))
        costs = dict(zip(("start", "latency", "step", "ragged", "cluster", "pack"), COSTS[step.id]))
        us = microseconds(Tile(**known, **costs), GPU, splits.work(step, M, N, K))
        self.ms[step.label] = us / 1000
        self.run(step.label)


def steps(*labels):
    return [kernels.step(label) for label in labels]


@pytest.fixture
def simulated(monkeypatch):
    return Formula(monkeypatch)


def test_a_section_for_each_step_in_rounds_of_its_own(simulated, tmp_path, monkeypatch):
    rounds, together = bench.rounds, set()

    def recorded(works, *rest, **more):
        simulated.log.clear()
        found = rounds(works, *rest, **more)
        together.add(frozenset(name[:2] for name in simulated.log if name[0] in "12c"))
        return found

    monkeypatch.setattr(bench, "rounds", recorded)
    path = tmp_path / "simulated_gpu_1" / records.MODEL
    main = steps(SMALL, f"{SMALL} SPLITS=4", f"{SMALL} SPLITS=4 CLUSTER=1", f"{SMALL} STREAM=528")
    other = {"21_warpgroups": steps("21_warpgroups", "21_warpgroups SPLITS=2")}
    splits.record(main, other, SHAPES, path)
    assert together == {frozenset({"cu", "18"}), frozenset({"cu", "21"})}
    found = json.loads(path.read_text())
    own = found["others"]["21_warpgroups"]
    assert found["labels"] == [one.label for one in main]
    assert own["labels"] == ["21_warpgroups", "21_warpgroups SPLITS=2"]
    assert own["shapes"] == found["shapes"] == [list(shape) for shape in SHAPES]
    assert own["cublas_us"] == len(SHAPES) * [1000.0]
    assert found["error"] < 0.05 and own["error"] < 0.05
    # what is read of it predicts what was timed
    monkeypatch.setattr(records, "model", lambda name, read=records._read: found)
    here = model.Gpu("Simulated GPU 1", 132)
    for cache in (model._way, model._near, model._costs, model._sections, model._record):
        cache.cache_clear()
    try:
        for section in (found, own):
            for shape, times in zip(section["shapes"], section["us"]):
                for label, us in zip(section["labels"], times):
                    if us is not None:
                        said = 1e6 * model.predicted(label, *shape, on=here)
                        assert said == pytest.approx(us, rel=0.15), (label, shape)
    finally:
        for cache in (model._way, model._near, model._costs, model._sections, model._record):
            cache.cache_clear()


def test_what_cannot_run_here_is_left_out(simulated, tmp_path):
    simulated.capability = (8, 0)
    path = tmp_path / "model.json"
    splits.record(steps(SMALL), {"21_warpgroups": steps("21_warpgroups")}, SHAPES[:3], path)
    found = json.loads(path.read_text())
    assert found["labels"] == [kernels.step(SMALL).label]
    assert found["others"] == {}


DECLARED = {one.label for one in with_variants(kernels.steps())}
NEW = [
    one for of_step in model.others(132).values() for one in of_step if one.label not in DECLARED
]


@pytest.mark.slow
@pytest.mark.parametrize("one", NEW, ids=lambda one: one.label)
def test_what_sgemm_may_choose_and_no_file_declares_is_right(one):
    assert splits.tile(one)["resident"] >= 1
    A, B, _ = kernels.inputs(67, 71, 73)
    assert_close(one(A, B, device="interpreter"), A, B)
