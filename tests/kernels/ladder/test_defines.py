"""Tile sizes that no file has: each is refused in words, or right. `sweep.py` tries many more."""

import random

import pytest
import sweep
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from anywarp.build import CompileError
from kernels.analysis.reference import CheckError
from kernels.ladder.step import step, steps

IDS = [one.id for one in steps()]
FEW = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@FEW
@given(st.data())
def test_one_define_changed(data):
    one = step(data.draw(st.sampled_from(IDS)))
    name = data.draw(st.sampled_from(sorted(one.defines)))
    others = [value for value in sweep.VALUES[name] if value != one.defines[name]]
    changes = {name: data.draw(st.sampled_from(others))}
    assert sweep.outcome(one, changes) in ("refused", "right")


@pytest.mark.slow
@FEW
@given(st.sampled_from(IDS), st.integers(0, 10**6))
def test_several_defines_changed(id, seed):
    changes = sweep.together(step(id), random.Random(seed))
    assert sweep.outcome(step(id), changes) in ("refused", "right")


REFUSED = [
    "11 TM=2 TN=32", "15 BM=64 WM=128 WN=16",                # were wrong
    "12 BN=32", "13 BN=32", "14 BN=32", "15 BN=32", "12 WM=256 WN=8",  # out of bounds
    "10 PAD=1", "11 PAD=2", "12 PAD=3", "14 PAD=-4", "09 TM=8 TN=2",   # misaligned
    "12 WM=8 WN=256 BN=256 BK=16", "06 TRANSPOSED=1 SWIZZLE=1 BM=24 BN=24 BK=24", "06 PAD=-1",
    "02 BM=128", "06 PAD=1000", "14 BUFFERS=9", "08 BK=1", "07 TM=128", "09 TN=64 TM=64 BM=8",
    "11 BLOCKS=0", "14 BUFFERS=0",
]  # fmt: skip
UNUSUAL = [
    "09 TM=16", "12 WM=8 WN=256 BN=256 BK=16 QUADS=0", "14 BUFFERS=3", "07 BM=8 TM=1",
    "06 TRANSPOSED=1 BM=24 BN=24 BK=24", "02 BM=1 BN=1024", "10 PAD=16",
]  # fmt: skip


@pytest.mark.parametrize("label", REFUSED + UNUSUAL)
def test_what_was_wrong_is_refused_in_words_and_what_is_unusual_is_right(label):
    id, *words = label.split()
    changes = {name: int(value) for name, value in (word.split("=") for word in words)}
    assert sweep.outcome(step(id), changes) == ("refused" if label in REFUSED else "right")
    if label in REFUSED:
        with pytest.raises(CompileError, match='static assertion failed with "[a-z]'):
            step(label).kernel  # noqa: B018


def test_the_property_can_fail():
    """Without its assertions, a step is wrong; with an obscure error, it is not refused."""
    eleven = step("11")
    careless = eleven.edit(source=eleven.source.replace("static_assert(", "static_assert(true || "))
    with pytest.raises(CheckError, match="elements are wrong"):
        sweep.outcome(careless, {"TM": 2, "TN": 32})
    with pytest.raises(CompileError):
        sweep.outcome(step("11").edit(region="places", code="#error no"), {})


def test_every_define_has_values_to_try():
    for one in steps():
        assert set(one.defines) <= set(sweep.VALUES)
