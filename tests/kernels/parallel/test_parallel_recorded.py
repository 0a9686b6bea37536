"""The record of an H200: that it hangs together, and what it must show."""

from __future__ import annotations

import pytest

import kernels
from kernels import parallel
from kernels.parallel import model

RECORD = kernels.records.parallel("NVIDIA H200")
PLAIN, TENSOR = RECORD["4"]["kernels"]
LEAST = {PLAIN: 0.95, TENSOR: 0.85}  # of linear, at the largest order
LARGEST = 32768
several = pytest.mark.parametrize("gpus", ["2", "4"])


def rows(section, **wanted):
    return [
        row
        for row in RECORD[section]["scaling"]
        if all(row[key] == value for key, value in wanted.items())
    ]


def test_sections_are_those_of_machines_with_so_many_gpus():
    for gpus, section in RECORD.items():
        assert section["provenance"]["gpus"] == int(gpus)
        assert section["provenance"]["gpu"] == "NVIDIA H200"
        assert {PLAIN, TENSOR} <= set(section["kernels"])


@several
@pytest.mark.parametrize("step", [PLAIN, TENSOR])
def test_the_ring_is_near_to_linear(gpus, step):
    (row,) = rows(gpus, step=step, schedule="ring", n=LARGEST, gpus=int(gpus))
    assert row["of_linear"] >= LEAST[step]


@several
def test_shares_follow_from_the_times_and_schedules_are_known(gpus):
    names = {plan.name for plan in parallel.usual(64, int(gpus))}
    assert {row["schedule"] for row in RECORD[gpus]["scaling"]} == names
    for row in RECORD[gpus]["scaling"]:
        share = model.efficiency(row["single"], row["seconds"], row["gpus"])
        assert row["of_linear"] == pytest.approx(share)


@several
def test_one_dimension_has_the_bits_of_one_gpu(gpus):
    for row in RECORD[gpus]["scaling"]:
        assert row["same_bits"] or row["schedule"].startswith("summa")


@several
def test_a_timeline_has_every_product_and_transfer(gpus):
    for plan in parallel.usual(LARGEST, int(gpus)):
        expected = [
            (product.rank, "multiply", number)
            for number, one in enumerate(plan.rounds)
            for product in one.products
        ]
        for step in PLAIN, TENSOR:
            spans = RECORD[gpus]["timelines"][f"{plan.name}, {step}"]
            assert all(0 <= start < end for *_, start, end in spans)
            found = [tuple(one[:3]) for one in spans if one[1] == "multiply"]
            assert sorted(found) == sorted(expected)


def test_the_model_tells_the_products_of_one_gpu():
    machine = model.machine(RECORD, PLAIN, 4)
    off = [
        abs(machine.product(m, n, k) / seconds - 1)
        for m, n, k, seconds in RECORD["1"]["products"][PLAIN]
    ]
    assert max(off) < 0.1
    assert 300e9 < 1 / model.machine(RECORD, PLAIN, 4, links="broadcast").beta < 450e9
