"""What threads know of each other by memory barriers, and of what runs on its own."""

from __future__ import annotations

import numpy as np
import pytest

from anywarp.kernel import Kernel
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
    order.report(at(0), at(0), 1, 4)
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


def rows_of(clock):
    return {block: row.tolist() for block, row in clock.rows.items()}


def test_messages_hold_those_that_they_are_made_of():
    first = fences.NOTHING.told("lock", 1, {0: at(1, 0)})
    second = first.told("lock", 2, {1: at(0, 5)})  # an atomic: what was there stands
    assert fences.merge(first, second) is second is fences.merge(second, first)
    third = fences.NOTHING.told("lock", 3, {2: at(9, 9)})  # a store by one who knew nothing
    both = fences.merge(second, third)
    assert rows_of(both) == {0: [1, 0], 1: [0, 5], 2: [9, 9]}
    assert set(both.parts) == {("lock", 2), ("lock", 3)}
    assert rows_of(fences.merge(both, first))[0] == [1, 0]
    fourth = third.told("lock", 4, {0: at(0, 3)})
    assert rows_of(fences.merge(first, fourth)) == {0: [1, 3], 2: [9, 9]}
    flag = both.told("flag", 1, {0: at(2, 0)})
    assert fences.merge(flag, third) is flag and fences.merge(second, flag) is flag
    assert rows_of(fences.merge(flag, fourth)) == {0: [2, 3], 1: [0, 5], 2: [9, 9]}


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
    looked, joined = [], fences.joined_rows
    monkeypatch.setattr(
        fences, "joined_rows", lambda a, b: (looked.append(len(b)), joined(a, b))[1]
    )
    kernel, work = Kernel(LOCKS, name), []
    for blocks in (16, 64):
        looked.clear()
        total = np.zeros(1, np.int32)
        assert not kernel.sanitize(blocks, 32, (np.zeros(2, np.int32), total))
        assert total[0] == blocks * (blocks - 1) // 2 * (2 if name == "relaxed" else 1)
        work.append(sum(looked))
    assert work[1] < 24 * work[0]  # a square is 16 times, a cube 64 times
