"""The picture of bytes as pipes: as wide as what was traced and recorded."""

from __future__ import annotations

import pytest
from drawn import elements

import kernels
from anywarp.analysis import SECTOR_BYTES
from kernels import metrics
from kernels.draw import PALETTE, pipes
from kernels.records import RECORDED_ON

STEPS = [kernels.step("03"), kernels.step("05")]


def test_pipes_are_as_wide_as_the_bytes_of_the_records():
    figure = pipes(STEPS)
    widths = [
        float(rect["width"])
        for rect in elements(figure, "rect")
        if rect.get("fill") == PALETTE["blue"]
    ]
    record = kernels.stalls(RECORDED_ON)
    wanted = []
    for step, sectors in zip(STEPS, (5, 8 / 32)):  # of L1 for each multiply-add of a warp
        counted = record["steps"][step.label]
        warps = record["size"] ** 3 / 32
        wanted += [warps * sectors * 32, counted[metrics.L2_SECTORS] * SECTOR_BYTES]
        wanted.append(counted[metrics.DRAM_READ])
    assert widths == pytest.approx([112 * x / max(wanted) for x in wanted], abs=0.01)
    for n in wanted:
        assert f"{n / 1e9:.3g} GB" in figure.alt
    assert "4.29 billion requests" in figure.alt and "0.134 billion requests" in figure.alt


def test_a_step_without_a_record_is_refused():
    with pytest.raises(KeyError, match="BM=24"):
        pipes([STEPS[1].define(BM=24, BN=24, BK=24)])
