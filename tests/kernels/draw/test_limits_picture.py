"""The picture of what an SM takes for a multiply-add, and of its limits."""

from __future__ import annotations

import pytest

import kernels
from kernels.analysis import sm_limits
from kernels.draw import limits

SMS = 132
COUNTED = kernels.stalls("NVIDIA H200")["steps"]


@pytest.mark.parametrize("name, largest, share", [
    ("02", sm_limits.DATA, 0.99),
    ("09", sm_limits.DATA, 0.91),
    ("12", sm_limits.ISSUE, 0.77),
    ("19", sm_limits.ISSUE, 0.93),
])  # fmt: skip
def test_no_kernel_is_faster_than_its_limits(name, largest, share):
    step = kernels.step(name)
    counted = COUNTED[step.label]
    each = sm_limits.limits(counted, step.trace(128, 128, 64, keep=()))
    taken = sm_limits.cycles(counted, SMS)
    assert max(each, key=lambda limit: each[limit]) == largest
    assert each[largest] / taken == pytest.approx(share, abs=0.006)
    assert each[sm_limits.FMA] == 0.25
    record = kernels.results("NVIDIA H200").at(step, 4096)
    by_clock = record.ms * record.sm_clock_mhz * 1000 * SMS / (4096**3 / 32)
    assert by_clock == pytest.approx(taken, rel=0.06)  # of a launch, its beginning and end too


def test_tags_are_those_of_the_loads():
    each = sm_limits.limits(COUNTED["02_naive"], kernels.step("02").trace(64, 16, 255, keep=()))
    assert 8 < each[sm_limits.TAG] < 11


def test_the_picture_has_a_row_for_each_step():
    figure = limits([kernels.step("05"), kernels.step("12")])
    words = {"05 shared tiling", "12 warp tiling", "45.5 TFLOPS", "99%", "77%", *sm_limits.LIMITS}
    assert all(f">{word}<" in figure.svg for word in words - {sm_limits.TAG})
    assert f">{sm_limits.TAG}<" not in figure.svg  # less than can be drawn
    assert f">{sm_limits.TAG}<" in limits([kernels.step("02")]).svg
    assert "12 warp tiling 0.36, 77% of it issue slots" in figure.alt
    assert "no single limit explains what it spans" in figure.caption
    assert "line" not in limits([kernels.step("02")]).caption  # the marks hide it
    with pytest.raises(KeyError, match="12_warp_tiling BM=64"):
        limits([kernels.step("12 BM=64")])
