"""Tables of costs: their parts are what was traced, and their last lines what was recorded."""

from __future__ import annotations

import pytest

import kernels
from kernels.analysis import sm_limits
from kernels.draw import costs, instructions, table, waits
from kernels.draw.records.costs import Table
from kernels.records import RECORDED_ON

STEPS = [kernels.step("05"), kernels.step("06")]
SMS = kernels.results(RECORDED_ON).provenance["multiprocessors"]


def column(made: Table, at: int) -> dict[str, float]:
    return {row[0]: float(row[at].rstrip("%")) for row in made.rows[1:] if row[at] != "–"}


@pytest.mark.parametrize("at", [1, 2])
def test_the_parts_of_a_cost_sum_to_what_the_trace_counts(at):
    step, rows = STEPS[at - 1], column(costs(STEPS, predicted=(9.6, 1.63)), at)
    assert rows.pop("all, predicted") == [9.6, 1.63][at - 1]
    counted, measured = rows.pop("all, counted"), rows.pop("measured")
    taken = rows.pop("cycles of an SM, at 4096")
    assert sum(rows.values()) == pytest.approx(counted, abs=0.002) and len(rows) == 4
    trace = step.trace(256, 256, 256, keep=())
    assert counted == pytest.approx(trace.wavefronts_per_fma, abs=0.0006)
    assert counted < measured < 1.02 * counted < 1.02 * taken
    assert taken == pytest.approx(
        sm_limits.cycles(kernels.stalls(RECORDED_ON)["steps"][step.label], SMS), abs=0.0006
    )


def test_another_size_was_not_measured():
    rows = dict(row[:2] for row in costs({STEPS[0]: "before"}, 64).rows)
    assert rows["measured"] == "–" and rows["wavefronts for each FMA"] == "before"


def test_instructions_sum_to_those_of_the_loop_and_a_quarter_of_them_is_a_limit():
    rows = column(instructions([kernels.step("12")]), 1)
    loop, executed, quarter, cycles = (
        rows.pop(name)
        for name in (
            *("all of the loop", "executed by the kernel"),
            *("a quarter: issue cycles", "cycles of an SM"),
        )
    )
    assert rows["fma"] == 1 and sum(rows.values()) == pytest.approx(loop, abs=0.004)
    assert loop == pytest.approx(executed, rel=0.01) and quarter < cycles
    assert quarter == pytest.approx(executed / 4, abs=0.001)
    equal = [name for name in rows if rows[name] == rows["barrier"]]
    assert equal == ["barrier", "global load"]  # by name, in every process


@pytest.mark.parametrize("per_fma", [False, True])
def test_waits_sum_to_the_whole(per_fma):
    for at, step in enumerate(STEPS, 1):
        rows = column(waits(STEPS, per_fma), at)
        whole = rows.pop("whole")
        assert sum(rows.values()) == pytest.approx(whole, abs=0.5 if not per_fma else 0.005)
        state = kernels.stalls(RECORDED_ON)["steps"][step.label]
        assert whole == pytest.approx(sm_limits.cycles(state, SMS) if per_fma else 100, rel=0.001)


def test_a_table_says_the_same_in_both_forms():
    made = table(
        ("n", "speed", "of it"), (4096, 8.9123, None), ("<a>", 1.0, "yes"), caption="Here."
    )
    assert repr(made).splitlines()[1:3] == ["4,096   8.91  –", "<a>        1  yes"]
    assert repr(made).endswith("\n\nHere.")
    html = made._repr_html_()
    for text in "<th", "8.91", "&lt;a&gt;", "–", "<figcaption>Here.", "4,096":
        assert text in html


def test_words_stand_at_the_left_and_numbers_at_the_right():
    made = table(["", "of", "+", "apart"], ["a", "a name", -1, "yes"], ["b", "2 names", 12.5, None])
    assert repr(made).splitlines()[1:3] == ["a  a name     -1  yes", "b  2 names  12.5  –"]
    cells = made._repr_html_().partition("<tbody>")[2].split("<td ")[1:5]
    sides = [cell.partition("text-align:")[2].partition(";")[0].partition('"')[0] for cell in cells]
    assert sides == ["left", "left", "right", "left"]
