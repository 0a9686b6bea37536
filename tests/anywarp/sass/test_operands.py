"""Operands of multiply-adds: in how many cycles they come from their banks."""

import numpy as np
import pytest

import kernels
from anywarp.sass import operands
from kernels.analysis import fma_operands, machine_loop, operand_cycles
from kernels.measure.experiments import Patched, without_reuse

FFMA = 0x000FC800000000000000000000007223
IADD3 = 0x000FC80007FFE0000000000000007210
LDS = 0x984


def words(*rows):
    """An instruction a row: its word without registers, three registers, the places it marks."""
    return np.array(
        [
            [
                word >> 32 * n & 0xFFFFFFFF
                | (a << 24, b, c, sum(1 << 26 + place for place in reuse))[n]
                for n in range(4)
            ]
            for word, a, b, c, *reuse in rows
        ],
        np.uint32,
    )


@pytest.mark.parametrize(
    "rows, three_fresh, one_bank",
    [
        ([(FFMA, 1, 2, 3)], 1, 0),
        ([(FFMA, 2, 4, 8)], 1, 1),
        ([(FFMA, 1, 3, 255)], 0, 0),  # nothing is stored in the last
        ([(FFMA, 5, 5, 3)], 0, 0),  # read once
        ([(FFMA, 1, 2, 3, 0), (FFMA, 1, 4, 5)], 1, 0),
        ([(FFMA, 1, 2, 3, 0), (FFMA, 7, 1, 5)], 2, 1),  # at hand in another place
        ([(FFMA, 1, 2, 3, 1), (FFMA, 1, 4, 5)], 2, 0),  # another was marked
        ([(FFMA, 1, 2, 3, 0), (LDS, 9, 9, 9), (FFMA, 1, 4, 5)], 2, 0),
        ([(LDS, 1, 2, 3, 0), (FFMA, 1, 4, 5)], 0, 0),
    ],
)
def test_fresh_operands(monkeypatch, rows, three_fresh, one_bank):
    monkeypatch.setattr(operands, "hot_words", lambda kernel, arch: words(*rows))
    fmas = sum(row[0] == FFMA for row in rows)
    assert fma_operands(None) == (fmas, three_fresh, one_bank)


def test_without_reuse_every_operand_is_fresh():
    step = kernels.step("13_register_prefetch")
    cleared = fma_operands(Patched(step, "no reuse", without_reuse))
    kept = fma_operands(step)
    assert kept.fmas == cleared.fmas == 512
    assert 0 < kept.three_fresh < 256 and cleared.three_fresh == 512


@pytest.mark.parametrize(
    "rows, cycles",
    [
        ([(FFMA, 1, 2, 255)], 1),  # one from each bank
        ([(FFMA, 1, 2, 3)], 2),
        ([(FFMA, 2, 4, 8)], 3),
        ([(FFMA, 5, 5, 5)], 1),  # read once
        ([(FFMA, 2, 4, 8), (FFMA, 1, 3, 5)], 4),  # read beside it, as long as no buffer is missing
        ([(FFMA, 2, 4, 255), (FFMA, 2, 4, 255), (FFMA, 1, 3, 255)], 5),
        ([(FFMA, 1, 2, 3, 0), (FFMA, 1, 4, 5)], 3),
        ([(FFMA, 1, 2, 3), (FFMA, 1, 4, 5)], 4),  # not marked
        ([(FFMA, 1, 2, 3, 0), (FFMA, 7, 1, 5)], 5),  # kept in another place
        ([(FFMA, 1, 2, 3, 0), (FFMA, 2, 4, 5, 0), (FFMA, 1, 7, 8)], 4),  # one for each bank
        ([(FFMA, 1, 2, 3, 0), (FFMA, 5, 4, 7), (FFMA, 1, 7, 8)], 6),  # its buffer has another
        ([(FFMA, 1, 2, 3, 0), (IADD3, 9, 255, 255), (FFMA, 1, 4, 5)], 5),
        ([(FFMA, 1, 2, 3, 0), (IADD3, 8, 255, 255), (FFMA, 1, 4, 5)], 4),
        ([(FFMA, 2, 4, 8), (FFMA, 255, 255, 1), (FFMA, 255, 255, 3)], 5),  # through in order
    ],
)
def test_operand_cycles(monkeypatch, rows, cycles):
    monkeypatch.setattr(operands, "hot_words", lambda kernel, arch: words(*rows))
    assert operand_cycles(None) == cycles


def test_without_reuse_a_loop_takes_longer():
    step = kernels.step("13_register_prefetch")
    instructions = len(machine_loop(step))
    cleared = Patched(step, "no reuse", without_reuse)
    assert instructions < operand_cycles(step) < 1.2 * instructions
    assert operand_cycles(cleared) > 1.5 * instructions
