"""benchmarks.operands: its loops hold what is meant, and the rule says what they took."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import kernels
from anywarp import gpu
from anywarp.compile import nvrtc
from anywarp.sass import decode, elf, instructions, machine_loop, operand_cycles
from anywarp.sass.operands import collected
from benchmarks import operands
from kernels.measure import experiments
from kernels.records import FOLDER

MEASURED = sorted(FOLDER.glob("*/operands.json"))
SAME_CODE = (12, 9), (13, 0)  # versions of NVRTC
PROGRAMS = operands.programs()


@pytest.fixture(params=MEASURED, ids=lambda path: path.parent.name)
def record(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


def cycles(words):
    return collected(map(decode, words))[-1]


def test_the_record_is_of_what_it_measures_today(record):
    assert list(record["cycles"]) == list(operands.rounds())
    assert record["programs"] == operands.digest(PROGRAMS.values())
    if nvrtc.version() in SAME_CODE:
        assert record["loops"] == operands.digest(operands.loops().values())


@pytest.mark.parametrize("warps, most", [(1, 0.002), (2, 0.013)])
def test_the_rule_says_what_every_program_took(record, warps, most):
    few, many = operands.SLOTS
    for text, words in PROGRAMS.items():
        if not text.endswith("stay 0"):
            said = [cycles(words * (n // len(words))) for n in operands.SLOTS]
            took = [each[warps] for each in record["cycles"][text]]
            off = np.diff(took) - np.diff(said)
            assert abs(off) / (many - few) < most, text


@pytest.mark.parametrize("warps, most", [(1, 0.009), (2, 0.006)])
def test_the_rule_says_what_the_hot_loops_took(record, warps, most):
    around = record["cycles"]["-010"][0][warps] - operands.SLOTS[0]  # an FMA there takes a cycle
    loops = operands.loops()
    if record["loops"] != operands.digest(loops.values()):
        pytest.skip("it is of other machine code")
    for name, words in loops.items():
        (took,) = record["cycles"][name]
        if warps < len(took):
            assert took[warps] - around == pytest.approx(cycles(words), rel=most), name


@pytest.mark.parametrize(
    "name, fmas, least, most",
    [
        ("14 unrolled", 512, 66, 76),
        pytest.param("19 orders", 1024, 83, 156, marks=pytest.mark.slow),
    ],
)
def test_what_products_take_beyond_slots_and_operands(name, fmas, least, most):
    found = kernels.experiments("NVIDIA H200")[name]
    if nvrtc.version() not in SAME_CODE:
        pytest.skip("it is of other machine code")
    for step in experiments.TABLE[name].steps(kernels.step):
        record = found.at(step.label, 4096)
        took = 1e3 * record.ms * record.sm_clock_mhz * 4 * 132 / (4096**3 / 32 / fmas)
        said = operand_cycles(step) / machine_loop(step).count("fma") * fmas
        if not step.label.endswith(("stay=0", "no loads", "no copies", "no loads or copies")):
            assert least < took - said < most, step.label


def test_what_is_marked_is_lost_when_another_warp_is_issued(record):
    few, many = operands.SLOTS
    for text, wanted in ("-01", 1), ("001", 2), ("A01", 2):
        for warps in 1, 2:
            begun, whole = (each[warps] for each in record["cycles"][f"{text}, stay 0"])
            assert (whole - begun) / (many - few) == pytest.approx(wanted, abs=0.04)
    begun, whole = (each[1] for each in record["cycles"]["A010"])
    assert (whole - begun) / (many - few) == pytest.approx(1, abs=0.01)


def test_programs_name_registers_by_their_parity_and_keep_what_they_mark():
    for text in ("001", "0110", "wyz", "AF01"):
        fmas = [decode(word) for word in operands.program(text)]
        wanted = [
            int(x) if x in "01" else {"A": 0, "F": 1, "w": 0, "y": 0, "z": 1}[x] for x in text
        ]
        for i in fmas:
            assert [r % 2 for r in (*i.slots, *i.results)][: len(text)] == wanted
    for one, after in itertools.pairwise(map(decode, operands.program("010"))):
        assert not {*one.slots} & {*after.slots} and len({*one.slots}) == 3
    marked = [decode(word) for word in operands.program("A01 a01")]
    assert [i.control.reuse for i in marked[:3]] == [1, 0, 1]
    assert {i.slots[0] for i in marked} == {112}
    (zero, *_), (twice, *_) = map(operands.program, ("-01", "0^10"))
    assert decode(zero).slots[0] == -1 and decode(twice).slots[0] == decode(twice).slots[1]


def test_no_result_is_read_before_it_is_there():
    for text, words in PROGRAMS.items():
        fmas = [decode(word) for word in words]
        for n, i in enumerate(fmas):
            following = [fmas[(n + k) % len(fmas)] for k in (1, 2, 3)]
            assert not any({*i.writes} & {*j.slots} for j in following), text


@pytest.mark.parametrize("count", operands.FRAMES)
def test_only_the_loop_is_exchanged(count):
    top = count - 3  # a register that only this frame has
    words = [operands.placed(word, "d", top) for word in operands.program("011")]
    frame, first, end, needed = operands.frame(len(words), count)
    cubin, threads = operands.rewritten(words)
    before, after = instructions(frame), instructions(cubin)
    assert [i.word for i in before[:first]] == [i.word for i in after[:first]]
    assert [i.word for i in before[end - 1 :]] == [i.word for i in after[end - 1 :]]
    names = [i.name for i in after[first:end]]
    assert names == ["UIADD3", "ISETP", *["FFMA"] * len(words), "BRA"]
    assert [i.word for i in after[first + 2 : end - 1]] == words
    assert not needed & operands.registers_of(words) and threads == operands.FRAMES[count][0]
    assert elf.registers(cubin) == count and elf.outside(cubin) == elf.outside(frame)


def test_the_frame_counts_its_rounds():
    defines = ["-DSLOTS=8", "-DTHREADS=64", "-DREGISTERS=4"]
    kernel = kernels.Kernel(operands.SOURCE, "timed", defines, filename="operands.cu")
    args = (3, np.zeros(64, np.float32), np.zeros(128, np.int64))
    trace = kernel.trace(1, 64, args)
    assert trace.counters[kernels.metrics.FFMA] == 64 * 3 * 8


def test_hot_loops_keep_their_banks():
    for name, words in operands.loops().items():
        cubin, _ = operands.rewritten(words)
        count = elf.registers(cubin)
        _, first, end, needed = operands.frame(len(words), count)
        new = instructions(cubin)[first + 2 : end - 1]
        assert not needed & operands.registers_of([i.word for i in new])
        for i, j in zip(map(decode, words), new, strict=True):
            pairs = zip((*i.results, *i.slots), (*j.results, *j.slots), strict=True)
            assert i.name == j.name and all((r - q) % 2 == 0 for r, q in pairs), name


@pytest.mark.gpu
def test_three_registers_of_one_bank_take_longer_than_two_of_two():
    gpu.require()
    assert operands.cycles(PROGRAMS["-010"])[0] < operands.cycles(PROGRAMS["000"])[0]
