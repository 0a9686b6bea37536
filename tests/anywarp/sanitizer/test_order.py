"""What threads know of each other by memory barriers, and of what runs on its own."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from anywarp.kernel import Kernel
from anywarp.ptx.machine import machine
from anywarp.sanitizer import fences
from anywarp.sanitizer.cluster_faults import Meetings
from anywarp.sanitizer.happens_before import Order


def at(*numbers):
    return np.array(numbers)


def test_a_phase_tells_what_those_knew_who_arrived():
    order = Order(2, 32, 0)
    order.release(at(1, 1), at(0, 0), at(1, 1), at(3, 5), 7)  # in the second block
    order.acquire(at(1), at(0), at(1), at(9))
    assert order.knows(at(1), at(9), at(3)) == 0  # the phase is not over
    order.end_phase(at(1), at(0))
    order.release(at(1), at(0), at(1), at(4), 8)  # in the next phase
    order.acquire(at(1), at(0), at(1), at(9))
    assert order.knows(at(1, 1, 1), at(9, 9, 9), at(3, 5, 4)).tolist() == [7, 7, 0]
    assert order.knows(at(0, 1), at(9, 8), at(3, 3)).tolist() == [0, 0]


def test_what_was_heard_is_told_on():
    order = Order(1, 32, 0)
    order.release(at(0), at(0), at(0), at(1), 5)
    order.end_phase(at(0), at(0))
    order.acquire(at(0), at(0), at(0), at(2))
    order.release(at(0), at(6), at(0), at(2), 9)  # at another object
    order.end_phase(at(0), at(6))
    order.acquire(at(0), at(6), at(0), at(3))
    assert order.knows(at(0, 0), at(3, 3), at(1, 2)).tolist() == [5, 9]


def test_a_barrier_of_the_block_tells_of_copies_and_does_not_wait_for_them():
    order = Order(1, 32, 0, columns=2)
    order.report(at(0), at(0), at(1), 4)
    order.end_phase(at(0), at(0))
    order.all_wait(np.array([True]), 6)
    assert order.knows_landed(at(0), at(7), at(1)) == 0
    order.acquire(at(0), at(0), at(0), at(2))
    assert order.knows_landed(at(0, 0), at(2, 7), at(1, 1)).tolist() == [4, 0]
    order.all_wait(np.array([True]), 8)
    assert order.knows_landed(at(0, 0), at(7, 7), at(1, 0)).tolist() == [4, 0]
    assert order.knows(at(0), at(7), at(2)) == 8


def test_a_fence_of_ones_own_says_nothing_of_others():
    order = Order(1, 32, 0)
    order.release(at(0), at(0), at(0), at(1), 3)
    order.end_phase(at(0), at(0))
    order.acquire(at(0), at(0), at(0), at(2))
    order.fence_own("async", at(0), at(2), 5)
    order.all_wait(np.array([True]), 6)
    assert order.knows_fenced("async", at(0, 0), at(9, 9), at(2, 1)).tolist() == [5, 0]


def test_blocks_of_a_cluster_learn_what_was_told_before_the_arrival():
    blocks = np.arange(4)
    order = Order(4, 32, 0)
    meetings = Meetings(order, blocks, 2, 4)
    phase, everybody = np.zeros(4, np.int64), np.ones((4, 32), bool)
    meetings.arrive(phase, everybody, 5, True)
    assert meetings.known(at(0), at(1), at(1), at(2)) == 0
    meetings.wait(phase, everybody)
    assert meetings.known(at(0, 0), at(1, 1), at(1, 2), at(2, 2)).tolist() == [5, 0]
    meetings.arrive(phase + 1, everybody, 9, False)  # relaxed: it tells nothing new
    meetings.wait(phase + 1, everybody)
    assert meetings.known(at(0), at(1), at(1), at(2)) == 5


def test_lanes_that_know_the_same_share_a_row():
    order, everybody = Order(2, 64, 0), np.ones((2, 64), bool)
    order.lanes_wait(np.full((2, 64), 0xFFFFFFFF, np.uint32), everybody, 3)
    assert len(np.unique(order.index["known"])) == 4  # a row for each warp
    assert order.knows(at(1, 1), at(40, 40), at(63, 31)).tolist() == [3, 0]
    odd = np.uint32(0xAAAAAAAA)
    members = np.where(np.arange(64) % 2, odd, ~odd) * np.ones((2, 1), np.uint32)
    order.lanes_wait(members, everybody, 5)  # odd lanes, and even ones
    assert order.knows(at(0, 0), at(1, 1), at(3, 2)).tolist() == [5, 3]


def test_a_row_that_somebody_has_outlives_the_others():
    order = Order(2, 32, 0)
    order.fence("gpu", at(1), at(7), 2)
    for stamp in range(3, 40):  # each makes new rows
        order.some_wait(1, np.arange(64).reshape(2, 32) < 4, stamp)
    assert order.count <= len(order.rows) < 40
    assert order.knows(at(0, 0, 1), at(0, 9, 0), at(3, 3, 3)).tolist() == [39, 0, 0]
    assert order.tells("gpu", at(1), at(7))(0)[[6, 7]].tolist() == [0, 2]
    order.all_wait(np.array([False, True]), 50)
    assert order.knows_fenced("gpu", at(1, 0), at(9, 9), at(7, 7)).tolist() == [2, 0]
    assert order.may_tell("gpu", at(1, 0), at(9, 9)).tolist() == [True, False]


def test_clocks_join_what_is_known_of_each_block():
    fence = fences.Fences()
    fence.begin_chunk(Order(3, 32, 0), np.arange(3))
    told, rows = fence.told, np.eye(32, dtype=np.int32)
    fence._tell(told, "lock", 0, 1, rows[1], 2)
    first = told["lock"]
    fence._tell(told, "lock", 0, 5, 3 * rows[5], 4)  # what was there stands
    fence._tell(told, "lock", 2, 0, rows[0], 5)
    second = told["lock"]
    assert fence._merge(first, second) is second is fence._merge(second, first)
    assert fence._merge(fences.NOTHING, first) is first
    assert fence._row(second, 0)[[1, 5]].tolist() == [1, 3]
    assert fence._row(second, 0, strong=True)[[1, 5]].tolist() == [2, 4]
    assert fence._row(second, 1) is None and fence._row(first, 2) is None
    fence._tell(told, "flag", 0, 7, 6 * rows[7], 6)  # by one who knew nothing of those
    assert fence._row(told["flag"], 0)[[1, 7]].tolist() == [0, 6]
    both = fence._merge(told["flag"], second)
    assert fence._row(both, 0)[[1, 5, 7]].tolist() == [1, 3, 6]
    assert fence._row(both, 2)[0] == 1
    for _ in range(2):
        assert (fence._row(fence._merge(both, first), 0) == fence._row(both, 0)).all()
    assert len(fence.states) == 6
    fence._merge(told["flag"], second)
    fence._tell(told, "other", 0, 9, rows[9], 7)
    fence._forget()  # what two made together, too
    again = fence._merge(told["flag"], second)
    assert (fence._row(again, 0) == np.maximum(fence._row(second, 0), 6 * rows[7])).all()


def test_what_a_thread_has_of_its_own_block_goes_on_by_its_fence():
    order, fence, both = Order(3, 32, 0), fences.Fences(), ("cta", "gpu")
    fence.begin_chunk(order, np.arange(3))

    def meet(words, cell, block, thread, stamp):
        opcode, *modifiers = words.split(".")
        kind = {"ld": "load", "st": "store"}[opcode]
        event = SimpleNamespace(
            kind=kind, instruction=SimpleNamespace(opcode=opcode, modifiers=modifiers)
        )
        fence.meet(event, "global", at(cell), at(block), at(thread), stamp)

    fence.fence(both, at(0), at(2), 1)  # so that it may tell
    meet("st.release.cta", 5, 0, 1, 2)
    meet("st.release.gpu", 6, 1, 0, 3)
    meet("ld.relaxed.cta", 5, 0, 2, 4)
    meet("ld.acquire.gpu", 6, 0, 2, 5)
    assert order.knows(at(0), at(2), at(1)) == 2
    known = []
    for stamp in (6, 9):
        meet("st.relaxed.gpu", 7, 0, 2, stamp)
        meet("ld.acquire.gpu", 7, 2, 0, stamp + 1)
        known.append(fence.known(at(2, 2), at(0, 0), at(0, 1), at(1, 0), False).tolist())
        fence.fence(both, at(0), at(2), stamp + 2)
    assert known == [[0, 3], [2, 3]]


LOCKS = """
extern "C" __global__ void relaxed(int* lock, int* sum)
{
    if (threadIdx.x) return;
    for (int i = 0; i < 2; ++i) {
        while (atomicExch(lock, 1)) ;
        __threadfence();
        *sum += blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}
extern "C" __global__ void acquire(int* lock, int* sum)
{
    if (threadIdx.x) return;
    int held;
    do asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;"
                    : "=r"(held) : "l"(lock) : "memory");
    while (held);
    *sum += blockIdx.x;
    asm volatile("st.release.gpu.b32 [%0], 0;" :: "l"(lock) : "memory");
}
extern "C" __global__ void ticket(int* lock, int* sum)
{
    if (threadIdx.x) return;
    int mine = atomicAdd(lock, 1);
    while (*(volatile int*)(lock + 1) != mine) ;
    __threadfence();
    *sum += blockIdx.x;
    __threadfence();
    *(volatile int*)(lock + 1) = mine + 1;
}"""


@pytest.mark.parametrize("name", ["relaxed", "acquire", "ticket"])
def test_who_waits_for_a_lock_looks_at_no_rows(name, monkeypatch):
    """Attempts grow with the square of the blocks; looking at the rows of all blocks in each of
    them would make it the cube."""
    looked, row_of = [], fences.Fences._row
    monkeypatch.setattr(fences.Fences, "_row", lambda *args: (looked.append(1), row_of(*args))[1])
    kernel, work = Kernel(LOCKS, name), []
    for blocks in (16, 64):
        looked.clear()
        total = np.zeros(1, np.int32)
        assert not kernel.sanitize(blocks, 32, (np.zeros(2, np.int32), total))
        assert total[0] == blocks * (blocks - 1) // 2 * (2 if name == "relaxed" else 1)
        work.append(len(looked))
    assert work[1] < 24 * work[0]  # a square is 16 times, a cube 64 times


PING_PONG = """
extern "C" __global__ void f(volatile int* turn, int* sum)
{
    for (int i = blockIdx.x; i < 64; i += 2) {
        while (*turn != i) ;
        __threadfence();
        *sum += i;
        __threadfence();
        *turn = i + 1;
    }
}"""


def test_states_that_nobody_is_known_in_are_forgotten(monkeypatch):
    monkeypatch.setattr(fences, "ROOM", 8)
    kept, tell = [], fences.Fences._tell
    monkeypatch.setattr(
        fences.Fences, "_tell", lambda *args: (tell(*args), kept.append(len(args[0].states)))
    )
    total = np.zeros(1, np.int32)
    assert not Kernel(PING_PONG, "f").sanitize(2, 1, (np.zeros(1, np.int32), total))
    assert total[0] == 63 * 32 and len(kept) == 126 and max(kept) < 32


LAST_BLOCK = """
__device__ int count;
extern "C" __global__ void f(const int* in, int* part, int* total)
{
    int last;
    part[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    FENCE;
    last = atomicAdd(&count, 1) == 32 * gridDim.x - 1;
    if (last) {
        THEN;
        for (int i = 0; i < 32 * gridDim.x; ++i)
            *total += part[i];
    }
}"""


@pytest.mark.parametrize("blocks_of_a_chunk", [1, 2, 8])
def test_what_is_put_off_is_known_in_other_chunks(monkeypatch, blocks_of_a_chunk):
    """Where nobody has a fence after the atomic operation, nothing is looked at."""
    monkeypatch.setattr(machine, "CHUNK_THREADS", 32 * blocks_of_a_chunk)
    told, tell = [], fences.Fences._tell
    monkeypatch.setattr(fences.Fences, "_tell", lambda *args: (tell(*args), told.append(1)))
    found = {}
    for fence, then in itertools.product(["__threadfence()", ""], repeat=2):
        options = [f"-DFENCE={fence}", f"-DTHEN={then}"]
        args = np.arange(256, dtype=np.int32), np.zeros(256, np.int32), np.zeros(1, np.int32)
        found[fence, then] = Kernel(LAST_BLOCK, "f", options).sanitize(8, 32, args)
        if then == "":
            assert not told
        told.clear()
    kinds = {key: {f.kind for f in each} for key, each in found.items()}
    whole = ("__threadfence()",) * 2
    assert kinds.pop(whole) == set()
    assert set(map(frozenset, kinds.values())) == {frozenset({"race"})}
