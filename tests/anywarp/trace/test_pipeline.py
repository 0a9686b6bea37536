"""Who fills and who reads shared memory: of real kernels, and of made-up events."""

from pathlib import Path

import numpy as np
import pytest
from test_pipelines import PIPELINE

import kernels
from anywarp import ptx
from anywarp.ptx.memory.allocations import Allocation
from anywarp.ptx.memory.events import Finished, MemoryBarrier, Started, Stretches
from anywarp.ptx.text.syntax import Instruction, Position
from anywarp.trace.pipeline import Pipeline, Recorder, Signal, Touch

CORPUS = Path(__file__).parents[2] / "corpus"


def told(recorded):
    """(what, warps, first byte, end) of the touches, "barrier" in between."""
    return [
        (
            e.what, sorted(set(e.warp.tolist())),
            int(e.start.min()), int((e.start + e.size).max()),
        ) if isinstance(e, Touch) else e.what
        for e in recorded.events
    ]  # fmt: skip


def staged(keep=(1, 0, 0)):
    kernel = kernels.Kernel((CORPUS / "async_copy.cu").read_text(), "staged")
    given, found = np.ones((2, 4, 256), np.float32), np.zeros((2, 64), np.float32)
    return kernel.pipeline(2, 64, (given, found), keep=keep)


def test_copies_of_threads():
    recorded = staged()
    assert recorded.block == (1, 0, 0)
    assert recorded.arrays == {"buffer": (0, 2048)}
    assert recorded.shapes["buffer"].extents == (2, 256)
    both = [0, 1]
    issue = [("issue", both, 1024 * s, 1024 * s + 1024) for s in (0, 1)]
    land = [("land", both, 1024 * s, 1024 * s + 1024) for s in (0, 1)]
    read = [
        [("read", both, 1024 * s, 1024 * s + 256), ("read", both, 1024 * s + 768, 1024 * s + 1024)]
        for s in (0, 1)
    ]
    assert told(recorded) == [
        issue[0],
        issue[1], land[0], "barrier", *read[0], "barrier",
        issue[0], land[1], "barrier", *read[1], "barrier",
        issue[1], land[0], "barrier", *read[0], "barrier",
        land[1], "barrier", *read[1], "barrier",
    ]  # fmt: skip
    source = (CORPUS / "async_copy.cu").read_text().splitlines()
    for e in recorded.events:
        word = {"read": "buffer[k & 1]", "barrier": "__syncthreads"}.get(e.what, "cp.async.cg")
        assert word in source[e.line - 1]
    assert told(staged((0, 0, 0))) == told(recorded)
    with pytest.raises(ValueError, match=r"there is no block \(2, 0, 0\)"):
        staged((2, 0, 0))


def bulk(name, tiles, options=()):
    kernel = kernels.Kernel(PIPELINE, name, options=("-arch=sm_90", *options))
    given = np.ones((2, tiles, 128), np.float32)
    threads = 128 + 32 * (name == "special")
    out = np.zeros((2, 128), np.float32)
    return kernel.pipeline(2, threads, (given, out, np.int32(tiles)), keep=(1, 0, 0))


def test_bulk_copies_and_their_mbarriers():
    recorded = bulk("special", 5)
    tile, full, empty = (recorded.arrays[name] for name in ("tile", "full", "empty"))
    assert (tile[1], full[1], empty[1]) == (3 * 512, 24, 24)
    touches = [e for e in recorded.events if isinstance(e, Touch)]
    stage = [n % 3 for n in range(5)]
    for what in "issue", "land":
        own = [e for e in touches if e.what == what]
        assert [(e.start.tolist(), e.size.tolist()) for e in own] == [
            ([tile[0] + 512 * s], [512]) for s in stage
        ]
        assert {int(e.warp[0]) for e in own} == {4}  # the producer's
    reports = [e.barrier.tolist() for e in touches if e.what == "land"]
    assert reports == [[full[0] + 8 * s] for s in stage]
    reads = [e for e in touches if e.what == "read"]
    assert [int(e.start.min()) - tile[0] for e in reads] == [512 * s for s in stage]
    assert {tuple(sorted(set(e.warp.tolist()))) for e in reads} == {(0, 1, 2, 3)}
    phases = [e for e in recorded.events if isinstance(e, Signal) and e.what == "phase"]
    found = [(int(e.address[0]), int(e.count[0])) for e in phases]
    assert [one for one in found if one[0] < empty[0]] == [
        (full[0] + 8 * s, n // 3 % 2) for n, s in enumerate(stage)
    ]
    assert [one for one in found if one[0] >= empty[0]] == [
        (empty[0] + 8 * s, n // 3 % 2) for n, s in enumerate(stage)
    ]
    assert all(e.warp.tolist() == [-1] for e in phases)


def test_a_step():
    recorded = kernels.step(14).pipeline(128, 128, 16, keep=(0, 0))
    assert isinstance(recorded, Pipeline) and set(recorded.arrays) == {"tile_a", "tile_b"}
    assert next(e[0] for e in told(recorded) if e != "barrier") == "store"
    assert {e.opcode for e in recorded.events if isinstance(e, Touch)} == {"st", "ld"}


def instruction(opcode, line=7):
    return Instruction(opcode, (), (), None, False, 1, Position("x.cu", line))


def recorder(block=(0, 0, 0), grid=(4, 1, 1)):
    made = Recorder(block)
    tile = Allocation("tile", 0, 512)
    made(ptx.Launched(None, grid, (256, 1, 1), {"shared": (tile,)}))
    return made


PLACE = np.array([2, 3]), 256  # blocks of the chunk, threads


def stretches(space, *of):
    return Stretches(space, *map(np.array, zip(*of)))


def test_reads_of_a_product_last_until_it_is_waited_for():
    made = recorder((3, 0, 0))
    # two products of block 3, one of block 2; the second has two stretches
    of = (0, 0, 64, 128), (1, 1, 0, 128), (2, 1, 128, 64), (2, 1, 256, 32)
    reads = stretches("shared", *of)
    tickets, owners = np.array([5, 6, 7]), (np.array([0, 1, 1]), np.array([0, 0, 128]))
    made(Started(instruction("wgmma"), *PLACE, 10, tickets, *owners, (reads,), ()))
    made(Finished(instruction("wgmma", 8), *PLACE, 20, np.array([5, 7]), False, None, None, None))
    first, second, end = made.result.events
    assert (first.what, second.what, end.what) == ("begin", "begin", "end")
    assert first.warp.tolist() == [0, 1, 2, 3] and set(first.start.tolist()) == {0}
    assert second.warp.tolist() == [4, 4, 5, 5, 6, 6, 7, 7]
    assert second.start.tolist() == [128, 256] * 4 and second.size.tolist() == [64, 32] * 4
    assert (end.start == second.start).all() and (end.warp == second.warp).all()
    assert (first.line, end.line, end.opcode) == (7, 8, "wgmma")


def test_a_copy_that_has_only_read_goes_on():
    made = recorder((2, 0, 0))
    reads, writes = stretches("shared", (0, 0, 0, 128)), stretches("shared", (0, 0, 256, 128))
    other = stretches("global", (0, 0, 0, 128))
    one = np.array([3])
    owner = np.array([0]), np.array([40])
    made(Started(instruction("cp"), *PLACE, 1, one, *owner, (reads, other), (writes,)))
    for only in True, False:
        made(Finished(instruction("cp"), *PLACE, 2, one, only, one * 0, one * 0 + 384, None))
    assert told(made.result) == [
        ("issue", [1], 256, 384), ("begin", [1], 0, 128), ("end", [1], 0, 128),
        ("land", [1], 256, 384),
    ]  # fmt: skip
    assert made.result.events[-1].barrier.tolist() == [384] and not made.under_way


def test_what_other_blocks_do_is_not_kept():
    made = recorder((3, 0, 0))
    mask = np.zeros((2, 256), bool)
    mask[0] = True  # block 2
    address = np.zeros((2, 256), np.int64)
    made(ptx.Access(instruction("ld"), *PLACE, 1, "load", "shared", 4, address, mask))
    made(ptx.Barrier(instruction("bar"), *PLACE, 2, 0, mask))
    made(ptx.Access(instruction("ld"), *PLACE, 3, "load", "global", 4, address, None))
    rows = np.array([0, 1, 1, 1])
    numbers = np.array([8, 16, 24, 32])
    made(MemoryBarrier(instruction("mbarrier"), *PLACE, 4, "wait", rows, numbers, rows,
                       np.array([0, 64, -1, 0]), np.array([1, 0, 1, 0])))  # fmt: skip
    (signal,) = made.result.events
    assert signal.address.tolist() == [16, 24, 32] and signal.warp.tolist() == [2, -1, 0]
    assert signal.count.tolist() == [0, 1, 0] and signal.line == 7
    made(ptx.Barrier(instruction("bar"), *PLACE, 5, 0, ~mask))
    made(ptx.Access(instruction("ld"), *PLACE, 6, "load", "shared", 4, address, ~mask))
    assert told(made.result)[1:] == ["barrier", ("read", list(range(8)), 0, 4)]
    assert made.result.events[1].address.size == 0
    nowhere = Instruction("ld", (), (), None, False, 1, None)
    made(ptx.Access(nowhere, *PLACE, 7, "load", "shared", 4, address, None))
    assert made.result.events[-1].line == 0
