"""benchmarks.scheduler: the machine code that it times is what a case says, its frame runs, and
what it found is the rule of `kernels.analysis.issue`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

import kernels
from anywarp.sass import decode, elf
from anywarp.sass.encoding import NOP, control, field, with_control
from benchmarks import scheduler
from benchmarks.scheduler import (
    AT,
    CLOCK,
    FFMA,
    L2_LOAD,
    RUN,
    SHARED_LOAD,
    SOURCE,
    TIMES,
    Case,
)
from kernels.analysis.issue import LOAD, SHARED, SHARED_LOAD as LDS, issue
from kernels.records import FOLDER

RECORD = json.loads((FOLDER / "nvidia_h100_80gb_hbm3/scheduler.json").read_text("utf-8"))
CASES = list(scheduler.cases())
# The rule is for code that the compiler writes, which has the hint 0 now and then. It knows nothing
# of what happens where every instruction has it: then warps take turns, and a register that is kept
# for reuse is lost at every turn.
MISSED = [*(Case(warps, stay=0) for warps in (4, 8)), Case(2, stay=0, operands="kept")]


def timed(case):
    """From the first of the clock's instructions to the last multiply-add."""
    words = elf.words(scheduler.cubin(case, "sm_90"))
    multiplies = [n for n, word in enumerate(words) if field(word, 0, 12) == FFMA]
    return words[multiplies[0] - 1 - case.mixed : multiplies[-1] + 1]


def measured(case, sample=-1):
    """When each warp, in the order in which they began, looked at the clock."""
    samples = RECORD["cases"][CASES.index(case)]["samples"]
    return np.array(sorted(np.cumsum(row[2:]).tolist() for row in samples[sample]))


def simulated(case):
    """The same by the model."""
    words = timed(case)
    clocks = [n for n, word in enumerate(words) if field(word, 0, 12) == CLOCK]
    loop = [
        decode(with_control(NOP if n in clocks else w, control(w))) for n, w in enumerate(words)
    ]
    latency = int(measured(Case(1, wait=L2_LOAD))[0, AT + 1] - measured(Case(1))[0, AT]) - 3
    warps = issue(loop, {LDS: (1, SHARED), LOAD: (1, latency)}, case.warps, 1, 1)
    times = np.array([warp.cycles for warp in warps])[:, clocks]
    return np.array(sorted(times.tolist())) - times.min()


def off(case, sample=-1):
    """How far the model is from what was measured, as a share of the time of all."""
    found = measured(case, sample)
    return abs(simulated(case) - found).mean() / found.max()


def test_the_record_is_of_what_it_measures_today():
    for case, entry in zip(CASES, RECORD["cases"], strict=True):
        assert {name: entry[name] for name in asdict(case)} == asdict(case)
        assert len(entry["samples"]) == scheduler.SAMPLES
        for rows in entry["samples"]:
            assert [row[0] for row in rows] == [4 * n for n in range(case.warps)]
            assert all(len(row) == 2 + TIMES and row[1] % 4 == rows[0][1] % 4 for row in rows)


@pytest.mark.parametrize("sample", range(scheduler.SAMPLES))
def test_the_model_goes_by_what_was_found(sample):
    for case in CASES:
        assert (off(case, sample) < 0.03) == (case not in MISSED), case
    assert off(Case(1), sample) == off(Case(1, wait=SHARED_LOAD), sample) == 0
    assert all(off(case, sample) < 0.01 for case in CASES if case.mixed and case.warps < 8)


def test_it_stays_with_a_warp_and_comes_back_to_the_first():
    alone = measured(Case(1))[0, -1]
    begins = measured(Case(4))[:, 0]
    assert (np.diff(begins) >= alone).all() and begins[-1] < 3 * alone + 40
    # each does its runs with nobody in between
    assert all((np.diff(row) == RUN + 1).all() for row in measured(Case(4)))
    # two that pause every other cycle take turns until both are at the end, then the other two
    pairs = measured(Case(4, chains=2))
    assert pairs[1, 0] < 3 and pairs[2, 0] > pairs[1, -1] > pairs[0, -1]
    # who waits for a load comes back before those that have not begun, but not before the other
    # has to wait, too
    one, two, three, _ = measured(Case(4, wait=SHARED_LOAD))
    assert two[AT] < one[AT + 1] < two[AT + 1] < three[0]


def test_who_had_to_wait_comes_after_the_others_for_a_while():
    for warps in (3, 4):  # all are behind: in turns
        starts = measured(Case(warps, mixed=True))[:, 8::2]
        assert (np.ptp(starts, 0) == 20 * (warps - 1)).all()
    five = measured(Case(8, mixed=True))  # a turn of 20 cycles: 80 later, the first comes again
    assert (np.diff(five[:5, 8::2], axis=1) == 100).all() and five[5:, 2].min() > five[:5, -1].max()


def test_what_the_hint_0_does():
    """It keeps a warp from the next cycle; and where all have it, everybody gets a turn."""
    for warps in (1, 2):
        assert (np.diff(measured(Case(warps, stay=0))) == 2 * (RUN + 1)).all()
    fair = measured(Case(4, stay=0))[:, -1]
    assert fair.min() > 0.85 * fair.max() > 3 * measured(Case(1))[0, -1]
    # a register kept for reuse is not there any more after another warp's instruction
    kept, lost, fresh = (
        np.diff(measured(case)).mean() / case.warps ** (case.stay == 0)
        for case in (
            Case(2, operands="kept"),
            Case(2, stay=0, operands="kept"),
            Case(2, operands="fresh"),
        )
    )
    assert kept == RUN + 1 and fresh == 12 and abs(lost - fresh) < 0.5


@pytest.mark.parametrize("wait", [0, SHARED_LOAD, L2_LOAD])
def test_every_run_has_the_clock_and_so_many_multiply_adds(wait):
    for case in (c for c in CASES if c.wait == wait):
        codes = Counter(field(word, 0, 12) for word in timed(case))
        assert codes[CLOCK] == TIMES and codes[FFMA] == (TIMES - (wait > 0)) * RUN + (wait > 0)
        assert codes.total() == codes[CLOCK] + codes[FFMA] + (wait > 0) + TIMES * case.mixed


def test_the_scheduler_is_told_what_the_case_says():
    for case, stalls, stays in (
        (Case(2, stay=0), {1}, {0}),
        (Case(2, stay="clock"), {1}, {0, 1}),
        (Case(2, chains=1), {1, 4}, {1}),
        (Case(2, chains=2), {1, 2}, {1}),
        (Case(2, operands="kept"), {1}, {1}),
    ):
        told = [control(word) for word in timed(case)]
        assert {c.stall for c in told} == stalls and {c.stay for c in told} == stays
        assert any(c.reuse for c in told) == (case.operands == "kept")


def test_the_value_of_a_load_is_needed_at_once():
    words = timed(Case(2, wait=L2_LOAD))
    at = [field(word, 0, 12) for word in words].index(scheduler.LDG)
    before, load, use, after = words[at - 1 : at + 3]
    assert field(before, 0, 12) == field(after, 0, 12) == CLOCK
    assert field(use, 64, 8) == field(load, 16, 8)
    assert control(use).wait == 1 << control(load).write


def test_the_frame_keeps_the_times_of_the_first_schedulers_warps():
    out = np.full((2, scheduler.ROW), -1, np.int32)
    kernel = kernels.Kernel(SOURCE, "order", ["-DREST=3"], filename="scheduler.cu")
    kernel(1, 8 * 32, (np.zeros(1, np.int32), 2, out), device="interpreter")
    found = scheduler.rows(out)
    assert [row[0] for row in found] == [0, 4]
    for row in found:
        assert len(row) == 2 + TIMES and all(apart >= 0 for apart in row[2:])
