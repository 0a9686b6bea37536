"""Occupancy, against NVIDIA's own calculator and published examples."""

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernels
from anywarp.analysis import occupancy
from anywarp.analysis.occupancy import SMS, blocks_by_registers, registers_of_warp

TABLE = Path(__file__).parents[2] / "data" / "occupancy.csv"


def needs(registers=32, shared=0, barriers=0):
    return SimpleNamespace(registers=registers, shared=shared, barriers=barriers)


def rows():
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return [
        {name: value if name == "compute_capability" else int(value) for name, value in row.items()}
        for row in csv.DictReader(lines)
    ]


@pytest.mark.parametrize("capability", SMS)
def test_blocks_are_those_of_nvidias_calculator(capability):
    mine = [row for row in rows() if row["compute_capability"] == capability]
    assert len(mine) > 25 and any(row["blocks"] == 0 for row in mine)
    for row in mine:
        resources = needs(row["registers"], row["shared"], row["barriers"])
        arguments = resources, row["threads"], capability, row["shared_mem"]
        if row["blocks"]:
            assert occupancy(*arguments).blocks == row["blocks"], row
        else:
            with pytest.raises(ValueError):
                occupancy(*arguments)


@pytest.mark.parametrize(
    "capability, registers, shared, threads, blocks, percent",
    [
        # CUDA C++ Best Practices Guide, "Calculating Occupancy": 37 registers, of which a warp gets
        # 40 x 32 from its scheduler's quarter. The text is on 7.0; its SM has the limits of 8.0's.
        ("8.0", 37, 0, 128, 12, 75),
        ("8.0", 37, 0, 320, 4, 62.5),
        # CUDA C++ Programming Guide, "Multiprocessor Level": 64 registers and 512 threads are two
        # blocks, with one register more one
        ("8.0", 64, 0, 512, 2, 50),
        ("8.0", 65, 0, 512, 1, 25),
        # CUDA Programming Guide, compute capability 10.0: blocks of 32 threads stop at 32 of them
        ("10.0", 16, 0, 32, 32, 50),
        # S. Boehm, "How to Optimize a CUDA Matmul Kernel", 2022, on an A6000
        ("8.6", 37, 8192, 1024, 1, 100 * 32 / 48),
    ],
)
def test_published_examples(capability, registers, shared, threads, blocks, percent):
    found = occupancy(needs(registers, shared), threads, capability)
    assert found.blocks == blocks and 100 * found.fraction == pytest.approx(percent)


def test_shared_memory_of_a_block_has_a_kibibyte_more():
    """Guide, table of memory information: 228 KiB of an SM of 9.0, 227 of them for one block."""
    alone = occupancy(needs(), 32, "9.0", shared_mem=227 * 1024)
    assert (alone.blocks, alone.limit) == (1, "shared memory")
    assert occupancy(needs(), 32, "9.0", shared_mem=113 * 1024).blocks == 2
    assert occupancy(needs(), 32, "9.0", shared_mem=113 * 1024 + 1).blocks == 1
    assert occupancy(needs(), 32, "7.5", shared_mem=32 * 1024).blocks == 2  # none there


@pytest.mark.parametrize(
    "resources, threads, limit",
    [
        (needs(32), 1024, "threads"),
        (needs(16), 32, "blocks"),
        (needs(128), 256, "registers"),
        (needs(32, shared=40000), 256, "shared memory"),
        (needs(32, barriers=16), 64, "barriers"),
    ],
)
def test_what_limits(resources, threads, limit):
    found = occupancy(resources, threads, "9.0")
    assert found.limit == limit and found.blocks == found.blocks_by[limit]
    assert found.blocks == min(found.blocks_by.values())
    assert found.warps == found.blocks * threads // 32 and found.fraction == found.warps / 64


def test_threads_that_do_not_fill_a_warp_take_one():
    assert occupancy(needs(), 65, "9.0") == occupancy(needs(), 96, "9.0")


@pytest.mark.parametrize("capability", SMS)
def test_less_for_one_more_is_the_least_that_helps(capability):
    """Against giving up one register, or one byte, after the other."""
    kinds = set()
    for threads in (64, 96, 128, 256, 320):
        for registers in range(20, 160, 7):
            for shared in (0, 3000, 9000, 24 * 1024):
                found = occupancy(needs(registers, shared), threads, capability)
                less = found.less_for_one_more
                kinds.add(tuple(less))
                fewer = registers - less.get("registers", 0)
                smaller = shared - less.get("shared memory", 0)
                more = occupancy(needs(fewer, smaller), threads, capability)
                if less:
                    assert more.blocks > found.blocks
                    assert min(less.values()) > 0
                for kind in less:  # one register or byte more would not do
                    least = {"registers": fewer, "shared memory": smaller}
                    least[kind] += 1
                    blocks = occupancy(needs(*least.values()), threads, capability).blocks
                    assert blocks == found.blocks
                if not less:  # nothing that registers and shared memory could do
                    assert occupancy(needs(1, 0), threads, capability).blocks == found.blocks
    assert {(), ("registers",), ("shared memory",), ("registers", "shared memory")} <= kinds


def test_capability_may_be_given_as_the_driver_does():
    assert occupancy(needs(), 256, (9, 0)) == occupancy(needs(), 256, "9.0")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((needs(), 256, "6.1"), r"6\.1 are not known here; known: 7\.5, 8\.0, .*, 12\.1"),
        ((needs(), 256, (7, 0)), r"compute capability 7\.0 are not known"),
        ((needs(), 1025, "9.0"), "1 to 1024 threads, not 1025"),
        ((needs(), 0, "9.0"), "1 to 1024 threads, not 0"),
        ((needs(256), 32, "9.0"), "at most 255 registers, not 256"),
        ((needs(65), 1024, "9.0"), "1024 threads with 65 registers each needs 73728 .*65536"),
        (
            (needs(shared=1024), 32, "9.0", 227 * 1024),
            r"233472 .*\(232448 .*\); .* 9\.0 allows 232448",
        ),
        ((needs(), 32, "12.0", 99 * 1024 + 1), "allows 101376"),
        ((needs(), 32, "7.5", -1), "number of bytes, not -1"),
    ],
)
def test_what_cannot_be_launched(arguments, message):
    with pytest.raises(ValueError, match=message):
        occupancy(*arguments)


def test_it_prints_what_limits_and_what_would_help():
    text = str(occupancy(needs(40, 16 * 1024), 256, "9.0"))
    assert text.splitlines()[0] == (
        "compute capability 9.0: 6 blocks, 48 of 64 warps (75%), limited by registers"
    )
    assert text.splitlines()[-1] == "one block more with 8 registers per thread less"
    assert "13 blocks" in text and "8 blocks" in text


def test_a_kernels_own_resources():
    step = kernels.step("03_coalesced")
    found = occupancy(step.kernel.resources("sm_90"), 1024, "9.0")
    assert found.blocks in (1, 2) and found.limit in ("registers", "threads")


@pytest.mark.parametrize("registers, taken", [(1, 256), (8, 256), (9, 512), (255, 8192)])
def test_a_warp_gets_whole_units(registers, taken):
    assert registers_of_warp(registers) == taken


@pytest.mark.parametrize("registers, threads, blocks", [
    (128, 512, 1), (129, 512, 0), (255, 256, 1), (128, 256, 2), (129, 256, 1), (168, 128, 3),
    (169, 128, 2), (32, 1000, 2), (33, 1000, 1), (40, 96, 16),
])  # fmt: skip
def test_blocks_that_registers_have_room_for(registers, threads, blocks):
    assert blocks_by_registers(registers, threads) == blocks
