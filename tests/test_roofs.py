"""benchmarks.roofs: what was measured is what it would measure, and its kernels do that."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import kernels
from anywarp.sass import elf, encoding
from benchmarks import roofs
from kernels.analysis import LANES
from kernels.records import FOLDER

MEASURED = sorted(FOLDER.glob("*/roofs.json"))
ONES = {"BF16": 0x3F803F80, "FP16": 0x3C003C00, "TF32": 0x3F800000, "FP32": 0x3F800000}
HMMA = 0x23C  # of BF16 and FP16
CODES = {"FFMA": {0x223}, "mma.sync": {HMMA, 0x237}, "wgmma": {0xDF0, 0x9F0}}  # machine code
KERNELS = list({roofs.source(case): case for case in roofs.cases()}.values())
IDS = ["-".join(map(str, (*case[:2], f"n{case.n}", case.a))) for case in KERNELS]


@pytest.mark.parametrize("path", MEASURED or ["nothing"])
def test_the_record_is_of_what_it_measures_today(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = record["one block"]
    for part, cases in ((rows, roofs.cases()), (record["all SMs"], roofs.ALL_SMS)):
        wanted = [case._asdict() for case in cases]
        assert [{key: row[key] for key in roofs.Case._fields} for row in part] == wanted
    for row in rows:
        case = roofs.Case(*(row[key] for key in roofs.Case._fields))
        assert row[roofs.RATE] < 1.01 * case.most, row
        assert row[roofs.RATE] <= record["roofs"][f"{case.instruction} {case.kind}"]
    for row in record["all SMs"]:
        # 2 operations of each multiply-add, on all SMs, at the clock seen
        hertz = row["mhz"] * 1e6 * record["provenance"]["multiprocessors"]
        assert row["tflops"] == pytest.approx(2 * row[roofs.RATE] * hertz / 1e12, rel=0.01)
        assert row["mhz"] < 1.01 * record["provenance"]["max_sm_clock_mhz"]


def test_what_the_book_says_of_the_roofs():
    record = kernels.roofs()
    best = record["roofs"]
    for kind, most in (("BF16", 2048), ("FP16", 2048), ("TF32", 1024)):
        assert best[f"mma.sync {kind}"] == pytest.approx(most * 2 / 3, rel=1e-3)
        assert best[f"wgmma {kind}"] == pytest.approx(most, rel=1e-3)
    assert best["FFMA FP32"] == pytest.approx(126.4, abs=0.1)
    found = {row["warps"]: row[roofs.RATE] for row in record["one block"]
             if (row["instruction"], row["kind"]) == ("mma.sync", "BF16")}  # fmt: skip
    assert round(found[4]) == 1248 and round(found[8]) == round(found[16]) == 1365
    # all SMs have the rate of one, at a lower clock where power is the limit
    for row in record["all SMs"]:
        one = best[f"{row['instruction']} {row['kind']}"]
        assert row[roofs.RATE] == pytest.approx(one, rel=1e-3)
        limited = row["instruction"] != "FFMA"
        assert row["throttle"] == limited * ["sw_power_cap"]
        assert (row["mhz"] < 0.9 * record["provenance"]["max_sm_clock_mhz"]) == limited


def test_behind_an_mma_stand_the_cycles_that_it_takes():
    """Chapter 20: four schedulers do 2048 multiply-adds each in 6 cycles, so 1365 a cycle."""
    kernel = kernels.step("20").kernel
    words = np.frombuffer(elf.code(kernel.cubin("sm_90"), kernel.symbol), "<u4").reshape(-1, 4)
    every = [encoding.control(int(d) << 96 | int(c) << 64)
             for a, _, c, d in words if a & 0xFFF == HMMA]  # fmt: skip
    assert Counter(one.stall for one in every)[6] == 172 and len(every) == 192
    assert 4 * 16 * 8 * 16 / 6 == pytest.approx(kernels.roofs()["roofs"]["mma.sync BF16"], rel=1e-3)


@pytest.mark.parametrize("case", KERNELS, ids=IDS)
def test_each_sum_is_of_as_many_products_as_are_counted(case):
    case = case._replace(warps=4)
    code, options, needs = roofs.source(case)
    multiply = kernels.Kernel(code, "multiply", options, filename="roofs.cu", needs=needs)
    data = np.full(roofs.WORDS, ONES[case.kind], np.uint32)
    sums, cycles = np.zeros(case.warps * LANES, np.float32), np.zeros(2 * case.warps, np.int64)
    passes = 1 if case.instruction == "FFMA" else 2
    multiply(1, case.warps * LANES, (passes, data, sums, cycles), "interpreter")
    assert sums.sum(dtype=np.float64) == case.products * passes


@pytest.mark.parametrize("case", KERNELS, ids=IDS)
def test_the_machine_code_is_the_loop_that_is_meant(case):
    built = roofs.compiled(case, "sm_90")
    words = np.frombuffer(elf.code(built.machine_code, "multiply"), "<u4").reshape(-1, 4)
    codes = Counter((words[:, 0] & 0xFFF).tolist())
    assert sum(codes[code] for code in CODES[case.instruction]) == case.unroll


@pytest.mark.parametrize("kind", roofs.BITS)
def test_numbers_are_random(kind):
    words = roofs.numbers(kind)
    x = words.view(np.float16) if kind == "FP16" else words.view(np.float32)
    if kind == "BF16":
        x = (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert abs(x.mean(dtype=np.float64)) < 0.03 and abs(x.std(dtype=np.float64) - 1) < 0.03
    assert len(words) == roofs.WORDS and len(np.unique(x)) > 1000


@pytest.mark.gpu
def test_more_warps_multiply_more():
    few, more = (
        roofs.row(roofs.Case("FFMA", "FP32", warps), 1, 3, 100_000)[roofs.RATE] for warps in (1, 4)
    )
    assert 16 < few < more < 129
