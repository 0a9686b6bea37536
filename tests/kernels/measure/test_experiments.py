"""benchmarks.experiments: every step of the table compiles, is right and is what it says."""

import json
import struct

import numpy as np
import pytest

import kernels
from anywarp import gpu
from anywarp.sass import elf
from benchmarks import experiments
from kernels.ladder.product.layout import laid_out
from kernels.ladder.step import Step
from kernels.measure import profiling
from kernels.records import Record, Results

STEPS = {
    f"{name}: {one.label}": one
    for name, row in experiments.TABLE.items()
    for one in row.steps(kernels.step)
}
NEW = {label: one for label, one in STEPS.items() if ", " in one.label}
EDITS = [label for label, one in NEW.items() if not isinstance(one, experiments.Patched)]
# What an experiment is about, as ptxas reports it: registers and bytes spilled.
RESOURCES = {
    "07 second block: 07_thread_tile_1d, one block": (90, 0),
    "07 second block: 07_thread_tile_1d, two blocks STRIDED=1": (64, 8),
    "09 depth: 09_thread_tile_2d, four blocks BK=32": (64, 0),
    "14 unrolled: 14_double_buffering, unroll 2": (128, 0),
    "14 unrolled: 14_double_buffering, unroll 2 BUFFERS=1": (128, 0),
    "16 copies: 16_async_copy, not ahead": (206, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("label", EDITS)
def test_an_edit_is_right(label):
    one = NEW[label]
    M, N, K = 2 * one.defines["BM"], one.defines["BN"], 2 * one.defines.get("BK", 32)
    A, B, _ = kernels.inputs(M, N, K)
    there = np.abs(A).astype(np.float64) @ np.abs(B)
    C = one(*laid_out(A, B, one.defines), device="interpreter")
    assert (np.abs(C - A.astype(np.float64) @ B) <= 2.0**-23 * (K + 2) * there).all()
    used = one.kernel.resources()
    if label in RESOURCES:
        assert (used.registers, used.spill_stores) == RESOURCES[label]


def test_the_table_of_resources_names_what_there_is():
    assert set(RESOURCES) <= set(NEW)


def test_labels_differ_within_an_experiment_and_stand_beside_their_step():
    for name, row in experiments.TABLE.items():
        labels = [one.label for one in row.steps(kernels.step)]
        assert len(labels) == len(set(labels)), name
        assert len(labels) * len(row.sizes) >= 2, name
        # without a bound, one block fits, or two: as they are, steps tell nothing there
        assert name == "10 bounds" or any(", " not in label for label in labels)
        assert row.question.endswith("?") and "\n" not in row.question
        for one in row.steps(kernels.step):
            for size in row.sizes:
                assert not one.broken(*((size,) * 3 if isinstance(size, int) else size))


@pytest.mark.slow
def test_edits_change_the_machine_code():
    """Or the shared memory of a block, so that fewer fit on an SM."""
    for row in experiments.TABLE.values():
        found = row.steps(kernels.step)[:4]
        made = [
            (elf.code(one.kernel.cubin("sm_90"), one.kernel.symbol), one.file.launches)
            for one in found
        ]
        assert len(set(made)) == len(made)


def test_without_reuse():
    step = kernels.step("14")
    before = step.kernel.cubin("sm_90")
    after = experiments.Patched(step, "no reuse", experiments.without_reuse).kernel.cubin("sm_90")
    assert len(before) == len(after)
    old, new = elf.words(before), elf.words(after)
    assert new == [word & ~(0xF << 122) for word in old]
    assert sum(word != patched for word, patched in zip(old, new)) > 100


def test_the_parts_of_a_loop_are_left_out():
    """A wgmma has the opcode 0xdf0, a copy 0xfae, and what packs the parts of numbers 0x23e."""
    step = kernels.step("23 BM=64 BN=64")

    def count(one):
        cubin = one.kernel.cubin("sm_90a")
        codes = [
            word[0] & 0xFFF
            for section in elf.sections(cubin)
            if section.flags & elf.EXECUTABLE
            for word in struct.iter_unpack("<4I", cubin[section.start :][: section.size])
        ]
        return tuple(codes.count(code) for code in (0xDF0, 0xFAE, 0x23E))

    products, copies, packs = count(step)
    assert products == 12 and copies and packs
    bare = count(experiments.alone(step))
    assert bare[0] == 0 and bare[1] < copies and bare[2] < packs
    assert count(experiments.alone(step, "copies"))[1:] == (copies, bare[2])
    assert count(experiments.alone(step, "numbers"))[1:] == (bare[1], packs)
    assert count(experiments.alone(step, "products")) == (products, *bare[1:])


def test_a_piece_that_is_not_there_once():
    with pytest.raises(ValueError, match="0 times, not once"):
        experiments.edited(kernels.step("03"), "x", ("nowhere", ""))


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "require", lambda: None)
    monkeypatch.setattr(gpu, "device", lambda: type("Device", (), {"name": "X 1"}))
    monkeypatch.setattr(gpu, "arch", lambda: "sm_90")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_rewritten_machine_code_is_timed_where_it_runs(on_gpu, monkeypatch, tmp_path, capsys, arch):
    timed = []

    def benchmark(steps, *_, **__):
        timed.extend(steps)
        return Results({"gpu": "X 1", "date": "2001-02-03"}, 1.0, 1.0)

    monkeypatch.setattr(gpu, "arch", lambda: arch)
    monkeypatch.setattr(experiments, "benchmark", benchmark)
    experiments.run(["19 orders"], tmp_path / "experiments.json")
    assert [one.label for one in timed if not isinstance(one, experiments.Patched)][::2] == [
        "17_tile_space",
        "19_machine_code",
    ]
    assert any(isinstance(one, experiments.Patched) for one in timed) == (arch == "sm_90")
    assert ("are left out" in capsys.readouterr().out) == (arch != "sm_90")


def test_run_keeps_the_others_and_says_what_there_is(on_gpu, monkeypatch, tmp_path):
    asked = []

    def benchmark(steps, sizes, together):
        asked.append((sizes, together))
        records = (Record(steps[0].label, 1, 1, 1, 1.0, 1.0, 1.0, 20),)
        return Results({"gpu": "x", "date": "2001-02-03"}, 1.0, 1.0, records)

    monkeypatch.setattr(experiments, "benchmark", benchmark)
    folder = tmp_path / "x_1"
    output = folder / "experiments.json"
    experiments.main(["reuse", "--output", str(output)])
    experiments.main(["09 depth", "power", "--output", str(output)])
    assert asked == [((4096,), True), ((256, 4096), True), ((2048, 4096, 8192), False)]
    found = kernels.experiments("X 1", tmp_path)
    assert list(found) == ["reuse", "09 depth", "power"]
    assert found["reuse"].records[0].step == "12_warp_tiling" and found["reuse"].recorded
    assert json.loads(output.read_text())["provenance"]["gpu"] == "X 1"


def test_every_experiment_was_recorded():
    gpus = "NVIDIA H100 80GB HBM3", "NVIDIA H200"
    found = {name: of for gpu in gpus for name, of in kernels.experiments(gpu).items()}
    missing = [
        (name, one.label, size)
        for name, row in experiments.TABLE.items()
        for one in row.steps(kernels.step)
        for size in row.sizes
        if name not in found or not found[name].find(one, size)
    ]
    assert not missing, "python -m benchmarks.experiments"


def test_what_the_steps_of_experiments_wait_for_is_recorded_once_each(monkeypatch, capsys):
    asked, called = [], []
    monkeypatch.setattr(profiling, "stalls", lambda *rest: asked.append(rest))
    names = ["reuse", "17 edges", "16 stages", "16 copies"]
    experiments.main(["--stalls", *names])
    ((steps, size, output, command),) = asked
    labels = [one.label for one in steps]
    assert size == 4096 and output is None and len(labels) == len(set(labels))
    assert labels[0] == "12_warp_tiling" and "12_warp_tiling, no reuse" not in labels
    assert "17_tile_space, whole tiles" in labels and "16_async_copy, not ahead" in labels
    assert command == ["-m", "benchmarks.experiments", "--launch", *names]
    monkeypatch.setattr(Step, "__call__", lambda step, A, B, device: called.append(step.label))
    experiments.launch(names, 256)
    assert called == labels
    with pytest.raises(SystemExit):
        experiments.main(["x"])
    assert "no experiment 'x'; there are" in capsys.readouterr().err
