"""Registers as an SM hands them out; `analysis.occupancy` has them among its limits."""

import pytest

from anywarp.analysis.registers import blocks_by_registers, registers_of_warp


@pytest.mark.parametrize("registers, taken", [(1, 256), (8, 256), (9, 512), (255, 8192)])
def test_a_warp_gets_whole_units(registers, taken):
    assert registers_of_warp(registers) == taken


@pytest.mark.parametrize("registers, threads, blocks", [
    (128, 512, 1), (129, 512, 0), (255, 256, 1), (128, 256, 2), (129, 256, 1), (168, 128, 3),
    (169, 128, 2), (32, 1000, 2), (33, 1000, 1), (40, 96, 16),
])  # fmt: skip
def test_blocks_that_registers_have_room_for(registers, threads, blocks):
    assert blocks_by_registers(registers, threads) == blocks
