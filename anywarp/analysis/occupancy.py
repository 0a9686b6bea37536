"""Occupancy: how many blocks of a kernel an SM holds at a time, and what stops the next one.

The limits are those of NVIDIA's CUDA Programming Guide, section "Compute Capabilities", tables of
SM and memory information. How registers and shared memory are handed out is what NVIDIA's header
`cuda_occupancy.h` (in every CUDA toolkit) computes: registers to a warp, from the quarter of the
register file that belongs to the warp's scheduler; shared memory to a block, with 1 KiB more for
the system from compute capability 8.0 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .sectors import KIB
from .warps import LANES

REGISTER_FILE = 64 * 1024  # registers of an SM, and the most that a block can have
SCHEDULERS = 4  # of an SM, each with a quarter of the registers
REGISTER_UNIT = 256  # a warp gets a multiple of this many registers
MAX_THREADS = 1024  # of a block
MAX_REGISTERS = 255  # of a thread


class SM(NamedTuple):
    """What an SM of one compute capability offers; bytes of shared memory."""

    blocks: int
    warps: int
    shared: int  # of the SM
    shared_block: int  # the most that a block can have, after opting in
    reserved: int  # taken from every block by the system
    shared_unit: int  # a block gets a multiple of this
    barriers: int | None  # None: they never limit


def _sm(blocks: int, warps: int, shared_kib: int, barriers: int | None = None) -> SM:
    """From 8.0 on: 1 KiB of a block's shared memory is the system's."""
    return SM(blocks, warps, shared_kib * KIB, (shared_kib - 1) * KIB, KIB, 128, barriers)


SMS = {
    "7.5": SM(16, 32, 64 * KIB, 64 * KIB, 0, 256, None),
    "8.0": _sm(32, 64, 164),
    "8.6": _sm(16, 48, 100),
    "8.7": _sm(16, 48, 164),
    "8.9": _sm(24, 48, 100),
    "9.0": _sm(32, 64, 228, 64),
    "10.0": _sm(32, 64, 228, 64),
    "10.3": _sm(32, 64, 228, 32),
    "11.0": _sm(24, 48, 228, 24),
    "12.0": _sm(24, 48, 100, 24),
    "12.1": _sm(24, 48, 100, 24),
}


@dataclass(frozen=True, repr=False)
class Occupancy:
    """`blocks` of a kernel, `warps` in all, are on an SM at a time, `max_warps` at the most.

    `blocks_by` says how many blocks each resource alone would admit. `limit` is the one that
    admits fewest; of several, the first in the order threads, blocks, registers, shared memory,
    barriers. `less_for_one_more` is what has to go before one more block fits, all of it:
    "registers" of a thread, bytes of "shared memory" of a block; empty where giving up neither
    helps, since another resource is used up too. `gpu` and its number of `sms` are said of a GPU
    that is there.
    """

    compute_capability: str
    blocks: int
    warps: int
    max_warps: int
    limit: str
    blocks_by: dict[str, int]
    less_for_one_more: dict[str, int]
    gpu: str = ""
    sms: int = 0

    @property
    def which(self) -> str:
        """ "Tesla T4, compute capability 7.5"."""
        return f"{self.gpu}, " * bool(self.gpu) + f"compute capability {self.compute_capability}"

    @property
    def fraction(self) -> float:
        """Of the SM's warps, 0 to 1."""
        return self.warps / self.max_warps

    def __repr__(self) -> str:
        units = {"registers": "registers per thread", "shared memory": "bytes of shared memory"}
        lines = [
            f"{self.which}: {self.blocks} blocks, "
            f"{self.warps} of {self.max_warps} warps ({self.fraction:.0%}), "
            f"limited by {self.limit}"
        ]
        lines += [
            f"  {name + ' alone:':<21}{count:>3} blocks" for name, count in self.blocks_by.items()
        ]
        if self.less_for_one_more:
            less = " and ".join(f"{n} {units[name]}" for name, n in self.less_for_one_more.items())
            lines.append(f"one block more with {less} less")
        return "\n".join(lines)


def occupancy(
    resources: Any, threads: int, compute_capability: str | tuple[int, int], shared_mem: int = 0
) -> Occupancy:
    """How many blocks of `threads` threads an SM holds, for a kernel with these `resources`.

    resources: a `build.Resources` of that compute capability (Kernel.resources("sm_90")), of
    which registers per thread, static shared memory in bytes per block and barriers are used;
    compute_capability: "9.0" or (9, 0); shared_mem: bytes per block, which the launch is
    taken to have opted in for. The SM is taken to give shared memory all of its L1 that it can.
    Raises ValueError for a compute capability that is not in `SMS`, and for a block that the
    hardware cannot launch at all.
    """
    name = str(compute_capability)
    if isinstance(compute_capability, tuple):
        name = ".".join(map(str, compute_capability))
    if name not in SMS:
        raise ValueError(
            f"the limits of compute capability {name} are not known here; known: " + ", ".join(SMS)
        )
    sm = SMS[name]
    shared = resources.shared + shared_mem
    _check_launch(sm, name, threads, resources.registers, shared, shared_mem)

    warps = -(-threads // LANES)
    admitted = {"threads": sm.warps // warps, "blocks": sm.blocks}
    if resources.registers:
        admitted["registers"] = blocks_by_registers(resources.registers, threads)
    if allocated := _round_up(shared + sm.reserved, sm.shared_unit):
        admitted["shared memory"] = sm.shared // allocated
    if sm.barriers and resources.barriers:
        admitted["barriers"] = sm.barriers // resources.barriers
    limit = min(admitted, key=lambda name: admitted[name])  # the first of equals
    blocks = admitted[limit]

    short = {what for what, count in admitted.items() if count == blocks}
    less = {}
    if short <= {"registers", "shared memory"}:
        if "registers" in short:
            a_quarter = -(-(blocks + 1) * warps // SCHEDULERS)  # warps of each scheduler
            units = REGISTER_FILE // SCHEDULERS // a_quarter // REGISTER_UNIT
            less["registers"] = resources.registers - units * REGISTER_UNIT // LANES
        if "shared memory" in short:
            units = sm.shared // (blocks + 1) // sm.shared_unit
            less["shared memory"] = shared - (units * sm.shared_unit - sm.reserved)
    return Occupancy(name, blocks, blocks * warps, sm.warps, limit, admitted, less)


def _check_launch(
    sm: SM, name: str, threads: int, registers: int, shared: int, shared_mem: int
) -> None:
    """Raise ValueError for a block that cannot be launched, however empty the SM is."""
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"a block has 1 to {MAX_THREADS} threads, not {threads}")
    if registers > MAX_REGISTERS:
        raise ValueError(f"a thread has at most {MAX_REGISTERS} registers, not {registers}")
    if shared_mem < 0:
        raise ValueError(f"shared_mem must be a number of bytes, not {shared_mem}")
    if shared > sm.shared_block:
        raise ValueError(
            f"a block has {shared} bytes of shared memory ({shared_mem} of them "
            f"dynamic); compute capability {name} allows {sm.shared_block}"
        )
    # the hardware checks as if every scheduler had to hold as many of the block's warps
    needed = registers_of_warp(registers) * _round_up(-(-threads // LANES), SCHEDULERS)
    if needed > REGISTER_FILE:
        raise ValueError(
            f"a block of {threads} threads with {registers} registers each needs "
            f"{needed} registers; an SM has {REGISTER_FILE}"
        )


def _round_up(number: int, unit: int) -> int:
    """To a multiple."""
    return -(-number // unit) * unit


def registers_of_warp(registers: int) -> int:
    """How many registers a warp is given whose threads use so many each."""
    return _round_up(registers * LANES, REGISTER_UNIT)


def blocks_by_registers(registers: int, threads: int) -> int:
    """How many blocks of so many threads, with so many registers each, an SM has registers for."""
    warps = REGISTER_FILE // SCHEDULERS // registers_of_warp(registers)  # of each scheduler
    return SCHEDULERS * warps // -(-threads // LANES)
