"""How an SM hands out its registers: to warps, in units, from the quarters of its file.

As NVIDIA's header `cuda_occupancy.h` (in every CUDA toolkit) computes it.
"""

from __future__ import annotations

from ..ptx.warps.warp import LANES

REGISTER_FILE = 64 * 1024  # registers of an SM, and the most that a block can have
SCHEDULERS = 4  # of an SM, each with a quarter of the registers
REGISTER_UNIT = 256  # a warp gets a multiple of this many registers


def registers_of_warp(registers: int) -> int:
    """How many registers a warp is given whose threads use so many each."""
    return -(-registers * LANES // REGISTER_UNIT) * REGISTER_UNIT


def blocks_by_registers(registers: int, threads: int) -> int:
    """How many blocks of so many threads, with so many registers each, an SM has registers for."""
    warps = REGISTER_FILE // SCHEDULERS // registers_of_warp(registers)  # of each scheduler
    return SCHEDULERS * warps // -(-threads // LANES)
