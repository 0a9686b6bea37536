"""The records of several GPUs: that they hang together, and what they must show."""

from __future__ import annotations

import pytest

import kernels
from kernels import parallel
from kernels.parallel import model

GPUS = "NVIDIA H200", "NVIDIA H100 80GB HBM3"
RECORDS = {gpu: kernels.records.parallel(gpu) for gpu in GPUS}
PLAIN, TENSOR = RECORDS[GPUS[0]]["4"]["kernels"]
LEAST = {PLAIN: 0.95, TENSOR: 0.85}  # of linear, at the largest order
LARGEST = 32768
SECTIONS = [(gpu, n) for gpu, record in RECORDS.items() for n in record if n != "1"]
several = pytest.mark.parametrize("gpu, gpus", SECTIONS)
each = pytest.mark.parametrize("gpu", GPUS)


def rows(section, **wanted):
    return [
        row for row in section["scaling"] if all(row[key] == value for key, value in wanted.items())
    ]


@each
def test_sections_are_those_of_machines_with_so_many_gpus(gpu):
    assert {"1", "2"} <= set(RECORDS[gpu])
    for gpus, section in RECORDS[gpu].items():
        assert section["provenance"]["gpus"] == int(gpus)
        assert section["provenance"]["gpu"] == gpu
        assert {PLAIN, TENSOR} <= set(section["kernels"])


@several
@pytest.mark.parametrize("step", [PLAIN, TENSOR])
def test_the_ring_is_near_to_linear(gpu, gpus, step):
    section = RECORDS[gpu][gpus]
    (row,) = rows(section, step=step, schedule="ring", n=LARGEST, gpus=int(gpus))
    assert row["of_linear"] >= LEAST[step]


@several
def test_shares_follow_from_the_times_and_schedules_are_known(gpu, gpus):
    names = {plan.name for plan in parallel.usual(64, int(gpus))}
    scaling = RECORDS[gpu][gpus]["scaling"]
    assert {row["schedule"] for row in scaling} == names
    for row in scaling:
        share = model.efficiency(row["single"], row["seconds"], row["gpus"])
        assert row["of_linear"] == pytest.approx(share)


@several
def test_one_dimension_has_the_bits_of_one_gpu(gpu, gpus):
    for row in RECORDS[gpu][gpus]["scaling"]:
        assert row["same_bits"] or row["schedule"].startswith("summa")


def test_two_gpus_of_each_kind_agree_about_the_bits():
    kept = ("step", "schedule", "n", "gpus")
    a, b = (
        {tuple(row[key] for key in kept): row["same_bits"] for row in rows(record["2"])}
        for record in RECORDS.values()
    )
    assert a == b


@several
def test_a_timeline_has_every_product_and_transfer(gpu, gpus):
    for plan in parallel.usual(LARGEST, int(gpus)):
        expected = [
            (product.rank, "multiply", number)
            for number, one in enumerate(plan.rounds)
            for product in one.products
        ]
        for step in PLAIN, TENSOR:
            spans = RECORDS[gpu][gpus]["timelines"][f"{plan.name}, {step}"]
            assert all(0 <= start < end for *_, start, end in spans)
            found = [tuple(one[:3]) for one in spans if one[1] == "multiply"]
            assert sorted(found) == sorted(expected)


@each
def test_the_model_tells_the_products_of_one_gpu(gpu):
    record = RECORDS[gpu]
    most = max(record, key=int)
    machine = model.machine(record, PLAIN, int(most))
    off = [
        abs(machine.product(m, n, k) / seconds - 1)
        for m, n, k, seconds in record["1"]["products"][PLAIN]
    ]
    assert max(off) < 0.1
    assert 300e9 < 1 / model.machine(record, PLAIN, int(most), links="broadcast").beta < 450e9
