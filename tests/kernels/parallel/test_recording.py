"""What `python -m benchmarks.parallel` measures, on a machine whose clock goes on when read."""

from __future__ import annotations

import json
from types import SimpleNamespace

import fake_gpus
import numpy as np
import pytest
from fake_gpus import queued

import kernels
from anywarp import gpu
from benchmarks.parallel import __main__ as record, clock, inputs, many_gpus, streaming
from kernels.parallel import processes
from kernels.parallel.schedule import Block

ORDER = 32


STEP = kernels.step("05 BM=4 BN=4 BK=4")


def multiplies(self, a, b, c, alpha=1, beta=0):
    assert all(x.flags.c_contiguous for x in (a, b, c))  # the step takes no pitch
    queued(a, b, c, alpha, beta)


@pytest.fixture
def small(monkeypatch, machine):
    """Few, small and fake."""
    on_gpu = lambda *where: fake_gpus.array(inputs.part(*where), fake_gpus.machine().current)
    facts = SimpleNamespace(name="NVIDIA H200", multiprocessors=2, compute_capability=(9, 0))
    for module, name, value in (
        (clock, "SCRATCH", 64),
        (clock, "REPEATS", 2),
        (clock, "SECONDS", 0),
        (many_gpus, "MESSAGES", (16, 64)),
        (many_gpus, "CHECKED", 3),
        (streaming, "ORDER", ORDER),
        (streaming, "TILES", (8, 16)),
        (streaming, "COPIED", 2**16),
        (streaming, "SHOWN", 16),
        (record, "LOCAL", (8, 16)),
        (record, "PANELS", ((8, 8, 4),)),
        (record, "provenance", lambda **more: {"gpu": "NVIDIA H200", **more}),
        (record.cublas, "version", lambda: "13.0"),
        (inputs, "on_gpu", on_gpu),
        (type(STEP), "__call__", multiplies),
        (type(STEP), "occupancy", lambda *where: SimpleNamespace(blocks=3)),
        (gpu, "device", lambda: facts),
        (gpu, "arch", lambda: "sm_90"),
        (processes, "take_gpu", lambda: None),
    ):
        monkeypatch.setattr(module, name, value)
    return machine


def test_each_number_of_gpus_has_its_section(small, tmp_path, capsys):
    path = tmp_path / "parallel.json"
    for count in 1, 2, 3, 4:
        arguments = [STEP.label, "--sizes", str(ORDER), "--output", str(path)]
        small(count, seed=count).ranks(lambda comm: record.main(arguments))  # noqa: B023
    assert "of_linear" in capsys.readouterr().out
    sections, label = json.loads(path.read_text()), STEP.label
    assert list(sections) == ["1", "2", "3", "4"]
    alone = sections.pop("1")
    assert alone["kernels"] == {label: {"tile": [4, 4], "slots": 6}}
    assert [row[:3] for row in alone["products"][label]] == [[8] * 3, [16] * 3, [8, 8, 4]]
    assert [(row["tile"], row["step"]) for row in alone["streamed"]] == [
        (tile, step) for tile in (8, 16) for step in (None, label)
    ]
    parts = (f"{n} columns{more}" for n in (8, 16) for more in ("", " beside products"))
    names = ["up", "down", "both", *parts]
    assert [name for name, _ in alone["bandwidths"]] == names
    for count, section in sections.items():
        assert set(section["links"]) == {"ring", "broadcast"}
        rows = section["scaling"]
        schedules = {(row["schedule"], row["gpus"]) for row in rows}
        assert {("ring", int(count)), ("gather", int(count))} <= schedules
        assert all(row["seconds"] > 0 and row["single"] > 0 for row in rows)
        assert all(row["same_bits"] for row in rows if row["schedule"] == "ring")
        only = {(row["step"], row["only"]) for row in section["parts"]}
        assert only == {(None, "transfers"), (label, "products"), (label, "one lane")}
        spans = section["timelines"][f"ring, {label}"]
        assert len({(rank, what) for rank, what, *_ in spans}) == 2 * int(count)
        assert all(start < end for *_, start, end in spans)


def test_a_wrong_product_is_not_recorded(small, monkeypatch, tmp_path):
    made = small(2)
    monkeypatch.setattr(type(STEP), "__call__", lambda self, a, b, c, alpha=1, beta=0: c)
    with pytest.raises(kernels.CheckError):
        made.ranks(lambda comm: record.record([STEP], [ORDER], tmp_path / "x.json"))


def test_elements_are_uniform_and_parts_are_of_one_matrix():
    whole = inputs.part(Block("A", (0, 400), (0, 300)), 300)
    assert whole.min() >= -1 and whole.max() < 1 and abs(whole.mean()) < 0.01
    assert abs(whole.var() - 1 / 3) < 0.01
    assert len(np.unique(whole)) > 0.99 * whole.size
    assert abs(np.corrcoef(whole[:-1].ravel(), whole[1:].ravel())[0, 1]) < 0.01
    part = inputs.part(Block("A", (100, 110), (7, 9)), 300)
    assert np.array_equal(part, whole[100:110, 7:9])
    assert not np.array_equal(whole, inputs.part(Block("B", (0, 400), (0, 300)), 300))


@pytest.mark.gpu
def test_a_gpu_gives_the_bits_of_numpy():
    block = Block("B", (70000, 70009), (60001, 60400))
    assert np.array_equal(gpu.to_host(inputs.on_gpu(block, 131071)), inputs.part(block, 131071))
