"""The table of memories, against what an H200 reported and what it measured."""

import pytest

import kernels
from anywarp.analysis.occupancy import KIB, SMS
from kernels.analysis.hierarchy import CHIPS, L1, OPERANDS, hierarchy


def test_the_h200_is_the_one_of_the_records():
    chip, results = CHIPS["NVIDIA H200"], kernels.results("NVIDIA H200")
    recorded = results.provenance
    assert chip.sms == recorded["multiprocessors"]
    assert chip.ghz * 1000 == recorded["max_sm_clock_mhz"]
    assert chip.l2 == recorded["l2_bytes"]
    # the driver keeps nothing back of what the data sheet has in powers of ten
    assert recorded["memory_bytes"] == pytest.approx(chip.device, rel=0.07)
    assert 0.8 * chip.device_gbs < results.copy_gbs < chip.device_gbs
    read = kernels.latency("NVIDIA H200")["read_gbs"]
    assert chip.l2_gbs == round(read["L2"])
    computed = hierarchy("NVIDIA H200")[1].gbs
    assert 0.95 * computed < read["L1"] < read["shared memory"] < computed
    peak = 2 * chip.sms * chip.ghz * chip.fmas / 1000
    assert 0.98 * peak < results.fma_peak_tflops <= peak


@pytest.mark.parametrize("gpu, capability", [("NVIDIA H200", "9.0"), ("Tesla T4", "7.5")])
def test_levels(gpu, capability):
    levels = hierarchy(gpu)
    assert [one.name for one in levels] == [
        "registers", "shared memory and L1", "L2", "device memory",
    ]  # fmt: skip
    speeds = [one.gbs for one in levels if one.gbs]
    assert speeds == sorted(speeds, reverse=True)  # nearer is faster
    registers, shared, *_ = levels
    chip = CHIPS[gpu]
    assert registers.bytes == chip.sms * registers.each == chip.sms * 65536 * 4
    assert registers.gbs == pytest.approx(chip.sms * chip.fmas * chip.ghz * OPERANDS * 4)
    assert shared.each > SMS[capability].shared  # some of it is always L1
    assert levels[3].bytes > 100 * levels[2].bytes


def test_shared_memory_gives_at_most_a_word_from_each_bank():
    for gpu, chip in CHIPS.items():
        assert (hierarchy(gpu)[1].gbs or 0) <= chip.sms * chip.ghz * 128


def test_another_gpu_is_refused():
    with pytest.raises(ValueError, match="known: NVIDIA H200, Tesla T4"):
        hierarchy("Voodoo 2")


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
    assert set(SMS) == set(L1) == set(GUIDE)
    for name, sm in SMS.items():
        mine = (sm.blocks, sm.warps, sm.shared // KIB, sm.shared_block // KIB, L1[name] // KIB)
        assert mine == GUIDE[name], name
    assert {chip.l1 for chip in CHIPS.values()} == {L1["9.0"], L1["7.5"]}
