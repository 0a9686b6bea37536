"""kernels.draw.records.bars: the recorded reasons, all of them, in the picture's words."""

import re

import pytest

import kernels
from kernels import metrics
from kernels.draw import stalls
from kernels.draw.records.bars import _grouped


def test_every_step_has_its_bar_and_its_numbers():
    labels = ["03_coalesced", "14_double_buffering BUFFERS=1"]
    figure = stalls(labels)
    record = kernels.stalls("NVIDIA H200")
    assert "M = N = K = 4096" in figure.alt and record["provenance"]["date"] in figure.caption
    for label in labels:
        own = record["steps"][label]
        waits = own[metrics.STALLED.format("long_scoreboard")]
        waits += own[metrics.STALLED.format("lg_throttle")]
        assert f"global memory {waits:.1f}" in figure.alt
        share = f"{own[metrics.ISSUE_ACTIVE]:.0f} %"
        assert share in figure.svg and f"issuing {share}" in figure.alt
    for word in ("03 coalesced", "barrier", "others", "another warp issues"):
        assert re.search(rf">{word}<", figure.svg), word


def test_no_reason_is_lost():
    for own in kernels.stalls("NVIDIA H200")["steps"].values():
        whole = sum(own[metrics.STALLED.format(reason)] for reason in metrics.REASONS)
        assert sum(_grouped(own).values()) == pytest.approx(whole)


def test_every_step_is_recorded():
    assert {one.label for one in kernels.steps()} <= set(kernels.stalls("NVIDIA H200")["steps"])


def test_what_was_not_recorded():
    with pytest.raises(ValueError, match="no stalls of 03_coalesced BM=8"):
        stalls([kernels.step("03 BM=8")])
    with pytest.raises(ValueError, match="recorded: NVIDIA H200"):
        kernels.stalls("none")
