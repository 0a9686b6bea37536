"""The picture of core matrices: every one is where the descriptor has it."""

import re

import pytest
from drawn import elements, texts

from anywarp.analysis import Descriptor
from anywarp.draw import core_matrices
from kernels.draw import PALETTE

LEFT, WIDE, RIGHT, CELL, TOP, HIGH = 62, 44, 212, 18, 40, 13
BOX = re.compile(r"M([\d.]+) ([\d.]+)h(\d+)")


def boxes(frame, colour):
    """(place, place) of the boxes in one colour: (unit, eight rows) of the factor, (line, row in
    it) of shared memory."""
    factor, memory = [], []
    for path in elements(frame, "path", fill=PALETTE[colour]):
        for x, y, wide in ((float(n) for n in found) for found in BOX.findall(path["d"])):
            if wide == WIDE:
                factor.append(((x - LEFT) / WIDE, (y - TOP) / HIGH))
            else:
                assert wide == CELL
                memory.append(((y - TOP) / HIGH, (x - RIGHT) / CELL))
    return factor, memory


def numbers(frame):
    """(line, row in it) -> the number there, and line -> the address beside it."""
    inside, beside = {}, {}
    for (x, y), words in texts(frame).items():
        line = (y - TOP - 10.5) / HIGH
        if words.isdecimal() and line == int(line):
            if x > RIGHT:
                inside[line, (x - RIGHT) / CELL - 0.5] = int(words)
            else:
                beside[line] = int(words)
    return inside, beside


def test_core_matrices_follow_each_other_by_stride_and_leading():
    """Of 64 rows of a tile of 128: the second unit of a row is 128 units further on."""
    steps = core_matrices(Descriptor(1024, 2048, 128), 64)
    assert len(steps) == 16
    for n, frame in enumerate(steps.frames):
        unit, group = divmod(n, 8)
        line = 16 * unit + group
        factor, memory = boxes(frame, "vermilion")
        assert factor == [(unit, group)] and memory == [(line, row) for row in range(8)]
        inside, beside = numbers(frame)
        assert inside == {(line, row): 8 * group + row for row in range(8)}
        assert beside == {n: 1024 + 128 * n for n in range(24)}
        _, others = boxes(frame, "blue")
        lines = [*range(8), *range(16, 24)]
        assert sorted(others) == [(line, row) for line in lines for row in range(8)]
        assert (
            f"k {8 * unit} to {8 * unit + 7}: from byte {1024 + 128 * line} on" in steps.labels[n]
        )
    assert steps.labels[0].endswith(" on, start")
    assert steps.labels[10].endswith(" on, start + 2 x stride + 1 x leading")
    assert "64 rows and 16 of k" in steps.caption and "stride offset 128" in steps.caption


def test_rows_that_are_apart():
    """Core matrices side by side along k, eight rows 256 bytes further on."""
    steps = core_matrices(Descriptor(0, 128, 256), 16)
    assert [boxes(frame, "vermilion")[1][0][0] for frame in steps.frames] == [0, 2, 1, 3]


def test_rows_of_three_digits_have_every_other_number():
    """Two such numbers side by side would touch."""
    steps = core_matrices(Descriptor(0, 2048, 128), 128)
    inside, _ = numbers(steps.frames[-1])
    assert sorted(inside.values()) == [120, 122, 124, 126]
    assert "every other one" in steps.caption


@pytest.mark.parametrize(
    "wrong", [(Descriptor(0, 16, 512, 0, 64), 64), (Descriptor(0, 16, 128), 12)]
)
def test_other_factors_are_refused(wrong):
    with pytest.raises(ValueError, match="no swizzle, and rows in eights"):
        core_matrices(*wrong)
