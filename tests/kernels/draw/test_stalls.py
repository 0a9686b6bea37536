"""Where the cycles of a scheduler go: shares that sum to the whole, by name and in plain words."""

import pytest

import kernels
from kernels import analysis, metrics, records
from kernels.draw import waits

RECORD = kernels.stalls("NVIDIA H200")
ROWS = RECORD["steps"]
MULTIPLY = {label: row for label, row in ROWS.items() if row[metrics.FFMA]}


@pytest.mark.parametrize("label", ROWS)
def test_the_shares_sum_to_the_whole_in_the_proportion_of_the_waits(label):
    row = ROWS[label]
    shares = analysis.scheduler_cycles(row)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["issued"] == row[metrics.ISSUE_ACTIVE] / 100
    waits = {x: row[metrics.STALLED.format(x)] for x in metrics.REASONS}
    assert set(shares) == {"issued", *waits} - {"selected", "not_selected"}
    sampled = {x: row.get(metrics.SAMPLED.format(x), 0) for x in set(shares) - {"issued"}}
    assert any(sampled.values()) != (":" in label)  # but other launches
    used = sampled if any(sampled.values()) else {x: waits[x] for x in sampled}
    for reason, n in used.items():
        share = (1 - shares["issued"]) * n / sum(used.values())
        assert shares[reason] == pytest.approx(share)
    total = sum(waits.values())
    # what is averaged are warps: together those that a scheduler, a quarter of an SM, held
    resident = 64 / 4 * row[metrics.WARPS_ACTIVE] / 100
    assert total * shares["issued"] == pytest.approx(resident, rel=0.022)


@pytest.mark.parametrize("label", MULTIPLY)
def test_cycles_for_each_fma_are_those_of_an_sm(label):
    row = MULTIPLY[label]
    cycles, shares = (analysis.scheduler_cycles(row, per_fma) for per_fma in (True, False))
    fmas = row[metrics.FFMA] / 32
    whole = sum(cycles.values())
    assert whole == pytest.approx(row[metrics.CYCLES_ACTIVE] * 132 / fmas)
    assert cycles == pytest.approx({name: whole * share for name, share in shares.items()})
    # four schedulers issue one instruction each in a cycle of the SM
    assert 4 * cycles["issued"] == pytest.approx(row[metrics.EXECUTED] / fmas, rel=0.011)


def test_the_table_sums_up_and_hides_only_what_is_small_everywhere():
    steps = kernels.step("12_warp_tiling"), kernels.step("13_register_prefetch")
    head, *rows = waits(steps, per_fma=True).rows
    assert head == (
        "cycles of an SM for each FMA of a warp",
        "12 warp tiling",
        "13 register prefetch",
    )
    shown = {name: [float(x) for x in row] for name, *row in rows}
    assert shown["long_scoreboard (data from global memory)"] == [0.033, 0.011]
    assert shown["barrier"] == [0.020, 0.019]
    assert next(iter(shown)) == "issued" and list(shown)[-2:] == ["others", "whole"]
    *parts, whole = shown.values()
    for column, step in enumerate(steps):
        assert sum(part[column] for part in parts) == pytest.approx(whole[column], abs=0.003)
        cycles = analysis.scheduler_cycles(ROWS[step.label])
        hidden = [x for x, share in cycles.items() if not any(x in name for name in shown)]
        assert hidden and max(cycles[x] for x in hidden) < 0.02


def test_every_step_is_recorded():
    """But step 25, which no GPU was left to record."""
    lacking = {one.label for one in kernels.steps()} - {
        *ROWS,
        *kernels.stalls(records.SAME_SM)["steps"],
    }
    assert lacking == {"25_tensor_maps"}


def test_what_was_not_recorded():
    with pytest.raises(ValueError, match="no stalls of 03_coalesced BM=8"):
        waits([kernels.step("03 BM=8")])
    with pytest.raises(ValueError, match="recorded: NVIDIA H100 80GB HBM3, NVIDIA H200"):
        kernels.stalls("none")
