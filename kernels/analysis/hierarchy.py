"""The memories of a GPU, nearest to the arithmetic first: how large they are, and how fast.

Sizes and counts of units are NVIDIA's: CUDA Programming Guide, tables of compute capabilities
(registers); Hopper Tuning Guide, section "Unified Shared Memory/L1/Texture Cache"; data sheet of
the H200 (device memory). Its SMs, clock and L2 are as the driver reports them, which
`records/nvidia_h200` has.

Speeds are peaks. NVIDIA states those of device memory only. Computed are those of registers, three
operands of four bytes for each FMA that can start, and of shared memory, a word of four bytes from
each of 32 banks and SM in each cycle. That of L2 is what `benchmarks.latency` read from it.

Of any other GPU, `measured` has what its driver reports and what was measured on it. How large L1
and shared memory of an SM are together is in the CUDA Programming Guide, table of shared memory
capacity, column "Unified Data Cache Size".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from anywarp.analysis import BANK_BYTES, BANKS, KIB, REGISTER_FILE

OPERANDS = 3  # registers that an FMA reads
MIB = KIB * KIB
# Of an H200: SMs, their clock, FMAs that one starts in a cycle, bytes and 10^9 bytes a second.
SMS, GHZ, FMAS = 132, 1.98, 128
L2, L2_GBS, DEVICE, DEVICE_GBS = 60 * MIB, 9075, 141 * 10**9, 4800
Speed = tuple[float | None, str]  # 10^9 bytes a second, and where that comes from


class Level(NamedTuple):
    """One kind of memory, of all SMs together. `each`: bytes of an SM, if it has its own."""

    name: str
    bytes: int
    each: int | None
    gbs: float | None  # 10^9 bytes a second
    speed: str  # where that comes from: "computed", "measured", …; or "not known"


L1 = {  # bytes of an SM, by compute capability
    **dict.fromkeys(("9.0", "10.0", "10.3", "11.0"), 256 * KIB),
    **dict.fromkeys(("8.6", "8.9", "12.0", "12.1"), 128 * KIB),
    **dict.fromkeys(("8.0", "8.7"), 192 * KIB),
    "7.5": 96 * KIB,
}


def measured(live: Any) -> tuple[Level, ...]:
    """The four levels of the GPU that `kernels.here.benchmark` has timed, one whose L1 is known."""
    facts = live.provenance
    sizes = L1[facts["compute_capability"]], facts["l2_bytes"], facts["memory_bytes"]
    fmas = 1000 * live.fma_peak_tflops / 2  # 10^9 a second
    shared, device = (facts["shared_gbs"], "measured"), (live.copy_gbs, "measured")
    return _levels(facts["multiprocessors"], fmas, sizes, shared, (None, "not known"), device)


def hierarchy() -> tuple[Level, ...]:
    """The four levels of an H200."""
    cycles = SMS * GHZ  # of all SMs, 10^9 a second
    shared, l2 = (cycles * BANKS * BANK_BYTES, "computed"), (L2_GBS, "recorded")
    sizes, device = (L1["9.0"], L2, DEVICE), (DEVICE_GBS, "data sheet")
    return _levels(SMS, cycles * FMAS, sizes, shared, l2, device)


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
