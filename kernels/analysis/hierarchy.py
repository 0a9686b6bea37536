"""The memories of a GPU, nearest to the arithmetic first: how large they are, and how fast.

Sizes and counts of units are NVIDIA's: CUDA Programming Guide, tables of compute capabilities
(registers); Hopper Tuning Guide and Turing Tuning Guide, section "Unified Shared Memory/L1/Texture
Cache"; data sheets of the H200 and of the T4 (device memory, L2 of the T4, clock of the T4). SMs,
clock and L2 of the H200 are as the driver reports them, which `results/nvidia_h200` records.

Speeds are peaks. NVIDIA states those of device memory only. Computed are those of registers, three
operands of four bytes for each FMA that can start, and of the H200's shared memory, a word of four
bytes from each of 32 banks and SM in each cycle; the T4's is not known here, nor its L2's. The L2
of the H200 is what `benchmarks.latency` read from it, which `results/nvidia_h200` records.

Of any other GPU, `measured` has what its driver reports and what was measured on it. How large L1
and shared memory of an SM are together is in the CUDA Programming Guide, table of shared memory
capacity, column "Unified Data Cache Size".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from anywarp.analysis import BANK_BYTES, BANKS, KIB, REGISTER_FILE

OPERANDS = 3  # registers that an FMA reads
MIB = KIB * KIB
Speed = tuple[float | None, str]  # 10^9 bytes a second, and where that comes from


class Chip(NamedTuple):
    """What is known of a GPU from documents and records."""

    sms: int
    ghz: float
    fmas: int  # that an SM can start in a cycle
    l1: int  # bytes of an SM, L1 and shared memory together
    l2: int  # bytes
    device: int  # bytes
    device_gbs: float
    l2_gbs: float | None  # recorded; None: not known here
    a_word_a_bank: bool  # in each cycle of shared memory: recorded, or not known here


class Level(NamedTuple):
    """One kind of memory, of all SMs together. `each`: bytes of an SM, if it has its own."""

    name: str
    bytes: int
    each: int | None
    gbs: float | None  # 10^9 bytes a second
    speed: str  # where that comes from: "computed", "measured", …; or "not known"


CHIPS = {
    "NVIDIA H200": Chip(132, 1.98, 128, 256 * KIB, 60 * MIB, 141 * 10**9, 4800, 9075, True),
    "Tesla T4": Chip(40, 1.59, 64, 96 * KIB, 4 * MIB, 16 * 10**9, 320, None, False),
}


L1 = {  # bytes of an SM, by compute capability
    **dict.fromkeys(("9.0", "10.0", "10.3", "11.0"), 256 * KIB),
    **dict.fromkeys(("8.6", "8.9", "12.0", "12.1"), 128 * KIB),
    **dict.fromkeys(("8.0", "8.7"), 192 * KIB),
    "7.5": 96 * KIB,
}


def measured(live: Any) -> tuple[Level, ...]:
    """The four levels of the GPU that `kernels.here.benchmark` has timed.

    Raises ValueError for a compute capability whose L1 is not known here.
    """
    facts = live.provenance
    if facts["compute_capability"] not in L1:
        known = ", ".join(L1)
        raise ValueError(f"L1 of {live.gpu} is not known here; known: compute capability {known}")
    sizes = L1[facts["compute_capability"]], facts["l2_bytes"], facts["memory_bytes"]
    fmas = 1000 * live.fma_peak_tflops / 2  # 10^9 a second
    shared, device = (facts["shared_gbs"], "measured"), (live.copy_gbs, "measured")
    return _levels(facts["multiprocessors"], fmas, sizes, shared, (None, "not known"), device)


def hierarchy(gpu: str) -> tuple[Level, ...]:
    """The four levels of one of CHIPS. Raises ValueError for another."""
    if gpu not in CHIPS:
        raise ValueError(f"the memories of {gpu!r} are not known here; known: {', '.join(CHIPS)}")
    chip = CHIPS[gpu]
    cycles = chip.sms * chip.ghz  # of all SMs, 10^9 a second
    banks = (cycles * BANKS * BANK_BYTES, "computed") if chip.a_word_a_bank else (None, "not known")
    l2, device = (chip.l2_gbs, "recorded" if chip.l2_gbs else "not known"), chip.device_gbs
    sizes = chip.l1, chip.l2, chip.device
    return _levels(chip.sms, cycles * chip.fmas, sizes, banks, l2, (device, "data sheet"))


def _levels(
    sms: int, fmas: float, sizes: tuple[int, int, int], shared: Speed, l2: Speed, device: Speed
) -> tuple[Level, ...]:
    """The levels of a GPU that starts so many 10^9 FMAs a second: `sizes` are the bytes of an SM's
    L1 and shared memory, of L2 and of the device's memory."""
    registers, (l1, *others) = REGISTER_FILE * BANK_BYTES, sizes
    return (
        Level("registers", sms * registers, registers, fmas * OPERANDS * BANK_BYTES, "computed"),
        Level("shared memory and L1", sms * l1, l1, *shared),
        Level("L2", others[0], None, *l2),
        Level("device memory", others[1], None, *device),
    )
