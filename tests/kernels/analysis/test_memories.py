"""The table of memories, against what an H200 reported and what it measured."""

import pytest

import kernels
from anywarp.analysis.occupancy import KIB, SMS
from kernels.analysis import hierarchy


def test_the_h200_is_the_one_of_the_records():
    results = kernels.results("NVIDIA H200")
    recorded = results.provenance
    assert hierarchy.SMS == recorded["multiprocessors"]
    assert hierarchy.GHZ * 1000 == recorded["max_sm_clock_mhz"]
    assert hierarchy.L2 == recorded["l2_bytes"]
    # the driver keeps nothing back of what the data sheet has in powers of ten
    assert recorded["memory_bytes"] == pytest.approx(hierarchy.DEVICE, rel=0.07)
    assert 0.8 * hierarchy.DEVICE_GBS < results.copy_gbs < hierarchy.DEVICE_GBS
    read = kernels.latency("NVIDIA H200")["read_gbs"]
    assert hierarchy.L2_GBS == round(read["L2"])
    computed = hierarchy.hierarchy()[1].gbs
    assert computed == pytest.approx(hierarchy.SMS * hierarchy.GHZ * 128)  # a word of each bank
    assert 0.95 * computed < read["L1"] < read["shared memory"] < computed
    peak = 2 * hierarchy.SMS * hierarchy.GHZ * hierarchy.FMAS / 1000
    assert 0.98 * peak < results.fma_peak_tflops <= peak


def test_levels():
    levels = hierarchy.hierarchy()
    assert [one.name for one in levels] == [
        "registers", "shared memory and L1", "L2", "device memory",
    ]  # fmt: skip
    speeds = [one.gbs for one in levels]
    assert speeds == sorted(speeds, reverse=True)  # nearer is faster
    registers, shared, *_ = levels
    assert registers.bytes == 132 * registers.each == 132 * 65536 * 4
    assert registers.gbs == pytest.approx(132 * 128 * 1.98 * 3 * 4)
    assert shared.each > SMS["9.0"].shared  # some of it is always L1
    assert levels[3].bytes > 100 * levels[2].bytes


# CUDA Programming Guide, "Compute Capabilities", tables of the SM, of memory and of shared memory
# capacity: blocks and warps of an SM, KiB of shared memory of an SM and of a block, and the unified
# data cache. 10.7 is left out: a block gets all of its 328 KiB only after asking for them in a mode
# of its own, which no launch here does.
GUIDE = {
    "7.5": (16, 32, 64, 64, 96),
    "8.0": (32, 64, 164, 163, 192),
    "8.6": (16, 48, 100, 99, 128),
    "8.7": (16, 48, 164, 163, 192),
    "8.9": (24, 48, 100, 99, 128),
    "9.0": (32, 64, 228, 227, 256),
    "10.0": (32, 64, 228, 227, 256),
    "10.3": (32, 64, 228, 227, 256),
    "11.0": (24, 48, 228, 227, 256),
    "12.0": (24, 48, 100, 99, 128),
    "12.1": (24, 48, 100, 99, 128),
}


def test_the_guide_says_the_same():
    assert set(SMS) == set(hierarchy.L1) == set(GUIDE)
    for name, sm in SMS.items():
        mine = (
            sm.blocks,
            sm.warps,
            sm.shared // KIB,
            sm.shared_block // KIB,
            hierarchy.L1[name] // KIB,
        )
        assert mine == GUIDE[name], name
