"""Operands of multiply-adds: in how many cycles they come from their banks."""

import numpy as np
import pytest

import kernels
from anywarp.sass import operands
from kernels.analysis import machine_loop, operand_cycles
from kernels.measure.experiments import Patched, without_reuse

FFMA = 0x000FC800000000000000000000007223
IADD3 = 0x000FC80007FFE0000000000000007210


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
