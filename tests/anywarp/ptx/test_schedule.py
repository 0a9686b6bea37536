"""Who runs next: locks, flags, barriers of a grid; and what is told of loops without an end."""

from __future__ import annotations

import time

import numpy as np
import pytest
from harness import cuda, entry, launch, run_cuda

from anywarp import ptx
from anywarp.ptx.machine import machine, scheduler
from anywarp.ptx.text import flow

LOCKS = {
    "after the loop": """
    while (atomicCAS(lock, 0, 1));
    *n = *n + 1;
    __threadfence();
    atomicExch(lock, 0);""",
    "in the loop": """
    for (bool done = false; !done;)
        if (atomicCAS(lock, 0, 1) == 0) {
            *n = *n + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }""",
    "left by break": """
    for (;;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *n = *n + 1;
            __threadfence();
            atomicExch(lock, 0);
            break;
        }
        __nanosleep(10);
    }""",
}


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("grid, block", [(1, 64), (3, 40)])
def test_a_naive_lock(name, grid, block):
    source = f'extern "C" __global__ void k(int* lock, volatile int* n)\n{{{LOCKS[name]}\n}}'
    lock, n = np.zeros(1, np.int32), np.zeros(1, np.int32)
    cuda(source)
    start = time.monotonic()
    run_cuda(source, "k", grid, block, [lock, n])
    assert n[0] == grid * block and lock[0] == 0
    assert time.monotonic() - start < 5


WAIT = """
extern "C" __global__ void k(volatile int* flag, int* out)
{
    if (threadIdx.x == 0) {
        while (blockIdx.x + 1 < gridDim.x && flag[blockIdx.x + 1] == 0);
        flag[blockIdx.x] = 1;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = flag[blockIdx.x];
}"""


def test_blocks_may_wait_for_later_ones_of_another_chunk():
    blocks = 40
    flag, out = np.zeros(blocks, np.int32), np.zeros(blocks * 1024, np.int32)
    run_cuda(WAIT, "k", blocks, 1024, [flag, out])
    assert out.all()


def test_blocks_that_wait_for_one_that_has_no_room_are_told_so(monkeypatch):
    from anywarp import ptx

    monkeypatch.setattr("anywarp.ptx.machine.scheduler.RESIDENT", 4 * 16384)
    flag, out = np.zeros(80, np.int32), np.zeros(80 * 1024, np.int32)
    with pytest.raises(ptx.Deadlock, match=r"wait.*no room(.*\n)+.*test\.cu:5"):
        run_cuda(WAIT, "k", 80, 1024, [flag, out])
    assert not out.any()


def test_a_barrier_of_the_whole_grid():
    source = """
extern "C" __global__ void k(int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, seen = 0;
    for (int round = 1; round <= 3; ++round) {
        out[i] = round;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < gridDim.x * (2 * round - 1));
        }
        __syncthreads();
        seen += ((volatile int*)out)[(i + n / 2) % n] == round;
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < gridDim.x * 2 * round);
        }
        __syncthreads();
    }
    out[i] = seen;
}"""
    count, out = np.zeros(1, np.int32), np.zeros(40 * 512, np.int32)
    run_cuda(source, "k", 40, 512, [count, out])  # 20480 threads: more than a chunk
    assert (out == 3).all()


ENDLESS = {
    "a flag that nobody sets": ("while (*x == 0);", "change of memory"),
    "a lock that nobody gives back": ("while (atomicCAS((int*)x, 0, 1));", "change of memory"),
    "no way out": ("while (true) x[threadIdx.x] += 1;", "no way leads"),
    "always true": ("for (unsigned i = n; i >= 0; --i) x[0] = i;", "no way leads"),
    "barriers": ("while (true) __syncthreads();", "no way leads"),
    "the same store": ("for (int i = 0; i < n;) x[i] = 3;", "end"),
    "nothing changes": (
        'for (int i = 0; i < n;) asm volatile("mov.u32 %0, 1;" : "=r"(i));',
        "nothing changes",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_loop_is_found_in_seconds(name):
    from anywarp import ptx

    loop, words = ENDLESS[name]
    source = f'extern "C" __global__ void k(volatile int* x, int n)\n{{\n    {loop}\n}}'
    cuda(source)
    start = time.monotonic()
    with pytest.raises(ptx.StepLimit, match=words) as caught:
        run_cuda(source, "k", 2, 32, [np.zeros(64, np.int32), np.int32(7)])
    assert time.monotonic() - start < 5
    assert "test.cu:3" in str(caught.value) and "thread (" in str(caught.value)


COUNT = """
extern "C" __global__ void k(unsigned* x, unsigned n)
{
    unsigned a = x[threadIdx.x];
    #pragma unroll 1
    for (unsigned i = 0; i < n; ++i) a = a * 1664525u + 1013904223u;
    x[threadIdx.x] = a;
}"""


def test_a_loop_of_a_million_ends_and_the_limit_can_be_lowered():
    assert scheduler.STEP_LIMIT > 10**6
    x = np.arange(3, dtype=np.uint32)
    run_cuda(COUNT, "k", 1, 3, [x, np.uint32(20_000)], step_limit=20_001)
    a = np.arange(3, dtype=np.uint32)
    for _ in range(20_000):
        a = a * np.uint32(1664525) + np.uint32(1013904223)
    assert x.tolist() == a.tolist()
    with pytest.raises(ptx.StepLimit, match=r"5,000 passes.*step_limit=40000(.*\n)+.*test\.cu:6"):
        run_cuda(COUNT, "k", 1, 3, [x, np.uint32(20_000)], step_limit=5_000)


def test_a_thread_that_waits_with_a_timeout_is_not_taken_for_endless():
    source = """
extern "C" __global__ void k(volatile int* flag, int* out)
{
    int n = 0;
    while (*flag == 0 && n < 10000) ++n;
    out[0] = n;
}"""
    out = np.zeros(1, np.int32)
    run_cuda(source, "k", 1, 1, [np.zeros(1, np.int32), out])
    assert out[0] == 10000


def test_progress_counts_blocks_to_the_end(monkeypatch):
    told = []
    monkeypatch.setattr("anywarp.ptx.machine.machine.CHUNK_THREADS", 64)
    x = np.zeros(32, np.uint32)
    run_cuda(COUNT, "k", 20, 32, [x, np.uint32(300)], progress=lambda *share: told.append(share))
    done = [share[:2] for share in told]
    assert done[-1] == (20, 20) and done == sorted(done)


def test_clocks_run_and_blocks_lie_on_multiprocessors():
    source = """
__device__ unsigned smid() { unsigned n; asm volatile("mov.u32 %0, %%smid;" : "=r"(n)); return n; }
extern "C" __global__ void k(long long* out, unsigned* where)
{
    long long first = clock64(), second = clock64();
    unsigned low = clock();
    long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    out[0] = second - first;
    out[1] = (low >= (unsigned)second) + (ns > 0);
    where[blockIdx.x] = smid() + 1000 * warpSize;
}"""
    out, where = np.zeros(2, np.int64), np.zeros(140, np.uint32)
    run_cuda(source, "k", 140, 1, [out, where])
    assert out[0] > 0 and out[1] == 2
    assert where.tolist() == [n % 132 + 32000 for n in range(140)]


def test_a_loop_that_a_guarded_return_leaves_has_a_way_out():
    from harness import run_body

    body = """
    .reg .b32 %n;
    .reg .pred %p;
    mov.u32 %n, 0;
AGAIN:
    add.u32 %n, %n, 1;
    setp.eq.u32 %p, %n, 9000;
    @%p ret;
    bra AGAIN;
    """
    run_body(body, "", 1, 33, [])


def test_the_order_of_turns():
    """A block comes after all that lead to it, a loop is whole before what it is left for."""
    assert flow.turns([[1, 2], [3], [3], []]) == [0, 1, 2, 3]
    assert flow.turns([[3, 1], [2], [], [1]]) == [0, 3, 1, 2]  # code out of line
    assert flow.turns([[1, 3], [2], [], [4], [3, 1]]) == [0, 3, 4, 1, 2]  # so is a loop
    assert flow.turns([[2], [2, 3], [1, 3], []]) == [0, 2, 1, 3]  # entered in the middle
    assert flow.turns([]) == [] and flow.turns([[0], []]) == [0, 1]


def test_paths_meet_where_they_join_though_code_is_out_of_line():
    """The body of the branch stands behind the kernel's end: the store is still one request."""
    text = entry(
        """
    .reg .pred %p; .reg .b32 %t; .reg .b64 %q;
    ld.param.u64 %q, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %q, %t, 4, %q;
    setp.gt.u32 %p, %t, 9;
    @%p bra FAR;
    add.u32 %t, %t, 5;
NEAR:
    st.global.u32 [%q], %t;
    ret;
FAR:
    add.u32 %t, %t, 7;
    bra NEAR;""",
        "u64 out",
    )
    stores, out = [], np.zeros(32, np.uint32)
    launch(text, "k", 1, 32, [out], sink=lambda e: stores.append(e) if is_store(e) else None)
    assert out.tolist() == [t + (7 if t > 9 else 5) for t in range(32)]
    assert len(stores) == 1 and stores[0].mask is None


def is_store(event) -> bool:
    return isinstance(event, ptx.Access) and event.kind == "store"


def test_a_long_row_of_branches_is_decoded_at_once():
    """Each is a fork whose two ways meet again: 2**200 ways through all of them."""
    after = {}
    for n in range(0, 600, 3):
        after |= {n: [n + 1, n + 2], n + 1: [n + 3], n + 2: [n + 3]}
    after[600], after[601] = [machine.END], [601]
    assert machine.endless(after) == {601}


LOCK_OF_BLOCKS = """
extern "C" __global__ void total(int* lock, volatile int* sum)
{
    __shared__ volatile int held;
    do {  // all threads of a block meet at each look
        __syncthreads();
        if (threadIdx.x == 0)
            held = atomicCAS(lock, 0, 1);
        __syncthreads();
    } while (held);
    if (threadIdx.x == 0) {
        *sum += blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}
"""


def test_blocks_that_meet_at_barriers_at_each_look_at_a_lock_take_turns():
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(cuda(LOCK_OF_BLOCKS, ("total",)).ptx, "total", 12, 64, [lock, total], step_limit=2000)
    assert total[0] == sum(range(12)) and lock[0] == 0
