"""Waits that nobody ends: found whatever waits, with who waits for whom, and none made up."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from harness import entry, launch
from slow import if_slow

from anywarp import ptx
from anywarp.kernel import Kernel
from anywarp.ptx.machine import deadlock, scheduler
from anywarp.ptx.machine.machine import decode

BARRIER = """
#include <cuda/barrier>
extern "C" __global__ void k(volatile int* x)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    if (threadIdx.x == 0) init(&met, blockDim.x);
    __syncthreads();
    if (threadIdx.x < 32)
        met.arrive_and_wait();
    else if (threadIdx.x < 63)
        __syncthreads();
}"""
DEVICE_BARRIER = """
#include <cuda/barrier>
__device__ cuda::barrier<cuda::thread_scope_device> met;
extern "C" __global__ void k(volatile int* x)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        init(&met, 2);
        met.arrive_and_wait();
    }
}"""
ATOMIC = """
#include <cuda/atomic>
extern "C" __global__ void k(int* x)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(x[5]);
    if (threadIdx.x == 0) flag.wait(0);
}"""
GRID = """
#include <cooperative_groups.h>
extern "C" __global__ void k(volatile int* x)
{
    if (blockIdx.x == 1) return;
    cooperative_groups::this_grid().sync();
}"""


def plain(body: str) -> str:
    """A kernel whose first thread of a block runs the body."""
    return f"""extern "C" __global__ void k(volatile int* x)
{{
    long long t = clock64(), sum = 0;
    unsigned n = 7;
    if (threadIdx.x == 0) {{
        {body}
    }}
    __syncthreads();
    x[8 + threadIdx.x] = n + sum;
}}"""


FLAG = (
    r"a thread waits for a change of memory .*byte 20 of x \(512 bytes\) being 0: an endless loop"
)
REST = r"of the block's other threads 63 wait at kernel\.cu:8 \(bar\.sync\)"
ALL = "all 4 blocks of the grid wait"
STUCK = {  # source, what is said
    "cuda::barrier": (
        BARRIER,
        r"32 threads wait .* mbarrier at .*met.*: 32 of 64 arrivals are pending.*an endless loop; "
        r"of the block's other threads 31 wait at kernel\.cu:11 \(bar\.sync\), 1 has exited; "
        + ALL,
    ),
    "cuda::barrier of the device": (
        DEVICE_BARRIER,
        r"a thread waits .*byte 0 of met .*63 have exited; 1 of the grid's 4 blocks waits, "
        r"3 have exited, such as block \(1, 0, 0\)",
    ),
    "cuda::atomic_ref": (ATOMIC, rf"{FLAG}; .*63 have exited; {ALL}"),
    "grid.sync()": (
        GRID,
        r"a thread waits at grid\.sync\(\) for blocks that never come there: an endless loop; "
        r"of the block's other threads 63 wait at .*\(barrier\.sync\); "
        r"3 of the grid's 4 blocks wait, 1 has exited, block \(1, 0, 0\)",
    ),
    "a barrier of the grid by hand": (
        plain("if (blockIdx.x != 1) { atomicAdd((int*)x, 1); while (x[0] < gridDim.x); }"),
        r"byte 0 of x \(512 bytes\) being 3: .*3 of the grid's 4 blocks wait, 1 has exited, block",
    ),
    "a flag in global memory": (plain("while (x[5] == 0);"), f"{FLAG}; {REST}; {ALL}"),
    "a flag in shared memory": (
        plain("__shared__ volatile int f; f = 3; while (f == 3);"),
        rf"byte 0 of f \(4 bytes\) being 3: an endless loop; {REST}",
    ),
    "with a count": (plain("while (x[5] == 0) n++;"), FLAG),
    "with a random sleep": (
        plain("while (x[5] == 0) { __nanosleep(n); n = n * 1664525u + 1013904223u; }"),
        FLAG,
    ),
    "with the time added up": (
        plain("while (x[5] == 0) { long long u = clock64(); sum += u - t; t = u; }"),
        FLAG,
    ),
    "with a sleep that depends on the time": (
        plain("while (x[5] == 0) if (clock64() - t > 4000) __nanosleep(100); else n = 8;"),
        FLAG,
    ),
    "with time told in turns": (
        plain("while (x[5 + (n & 1)] == 0) if (clock64() - t > 999) { n ^= 1; t = clock64(); }"),
        r"byte 2[04] of x",
    ),
    "with a store that changes nothing": (plain("while (x[5] == 0) x[7] = 3;"), FLAG),
    "up to a million times": (
        plain("while (x[5] == 0 && n < 1000000) n++;"),
        r"byte 20 of x .* being 0: an endless loop\? step_limit=8388608 allows eight times",
    ),
    "with places in turn": (plain("while (x[5 + n % 3] == 0) n++;"), r"byte 2[048] of x"),
}


def kernel_of(source: str) -> Kernel:
    return Kernel(source, "k", enable_cooperative_groups="grid" in source)


SANITIZED = "cuda::barrier", "a flag in global memory"  # the others by slow tests


@pytest.mark.parametrize(
    "way, name",
    [
        *(("__call__", name) for name in STUCK),
        *(pytest.param("sanitize", name, marks=if_slow(name not in SANITIZED)) for name in STUCK),
    ],
)
def test_a_wait_that_nobody_ends_is_found_in_seconds(way, name):
    source, words = STUCK[name]
    kernel = kernel_of(source)
    start = time.process_time()
    if way == "sanitize" and name == "cuda::barrier":
        (finding,) = kernel.sanitize(4, 64, (np.zeros(128, np.int32),))
        assert finding.kind == "barrier"
        message = finding.message
    else:
        with pytest.raises(ptx.StepLimit) as caught:
            getattr(kernel, way)(4, 64, (np.zeros(128, np.int32),))
        message = str(caught.value)
        assert re.search(
            r"\n  at .*\n  at PTX line \d+: .*\n  at block \(0, 0, 0\), thread \(0,", message
        )
    assert re.search(words, message), message
    assert time.process_time() - start < 5


def test_who_waits_at_barriers_is_said_with_who_does_not_come():
    source = """extern "C" __global__ void k(int* x)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else if (threadIdx.x < 40)
        asm volatile("bar.sync 2, 64;");
}"""
    with pytest.raises(
        ptx.Deadlock,
        match=r"barrier 1 is never completed: 32 threads .*; of the "
        r"block's other threads 8 wait at kernel\.cu:6 \(bar\.sync\), 24 have exited",
    ):
        Kernel(source, "k")(2, 64, (np.zeros(1, np.int32),), "interpreter")


def rescued(wait: str, late: str) -> str:
    """All blocks wait for the 41st."""
    return f"""extern "C" __global__ void k(volatile int* x)
{{
    long long t = clock64();
    int n = 0;
    if (threadIdx.x == 0) {{
        if (blockIdx.x == 40) {{
            {late}
            x[5] = 1;
        }}
        {wait}
    }}
}}"""


WAITS = {"plain": "while (x[5] == 0);", "counts": "while (x[5] == 0) n++;"}
LATE = {
    "after a timeout": "while (x[6] == 0) if (clock64() - t > 3000000000ll) break;",
    "after one of 32 bits": "while (x[6] == 0) if (clock() - int(t) > 1500000000) break;",
    "after many timeouts": (
        "while (x[6] == 0 && n < 20) if (clock64() - t > 1000000) { n++; t = clock64(); }"
    ),
    "after timeouts that memory tells of": (
        "while (x[6] < 20) if (clock64() - t > 1000000) { x[6] = x[6] + 1; t = clock64(); }"
    ),
    "after a pause": "while (clock64() - t < 100000000);",
    "after so many looks": "while (x[6] == 0 && n < 2000) n++;",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("block", [32, pytest.param(1024, marks=pytest.mark.slow)])
def test_a_wait_that_somebody_ends_later_is_none(wait, late, block):
    """In a chunk, and in the second of four."""
    x = np.zeros(8, np.int32)
    Kernel(rescued(WAITS[wait], LATE[late]), "k")(97, block, (x,), "interpreter")
    assert x[5] == 1


def test_a_wait_is_as_long_as_nothing_has_changed():
    source = plain("""while (x[5] == 0 && n < 200) n++;
        for (int i = 0; i < 2000; i++) x[6] = i;
        while (x[5] == 0 && n < 430) n++;""")
    Kernel(source, "k")(1, 32, (np.zeros(64, np.int32),), "interpreter", step_limit=30_000)


def test_who_computes_for_long_is_waited_for():
    """Without a store, and for more instructions than would be enough for a mere wait."""
    source = """extern "C" __global__ void k(volatile unsigned* x, unsigned n)
{
    if (threadIdx.x == 0) {
        unsigned a = 1;
        #pragma unroll 1
        for (unsigned i = 0; i < n; ++i) a = a * 1664525u + 1013904223u;
        x[0] = a | 1;
    } else if (threadIdx.x == 32) {
        unsigned seen = 0;
        while (x[0] == 0) seen++;
    }
}"""
    x = np.zeros(1, np.uint32)
    Kernel(source, "k")(1, 64, (x, 3000), "interpreter", step_limit=10_000)
    assert x[0] & 1
    assert 10_000 // scheduler.VAIN < 3 * 3000


def test_the_first_register_may_count():
    text = entry(
        """
    .reg .pred %p; .reg .b32 %n, %v; .reg .b64 %q;
    add.u32 %n, %n, 1;
LOOP:
    add.u32 %n, %n, 1;
    ld.param.u64 %q, [x];
    ld.volatile.global.u32 %v, [%q];
    setp.eq.u32 %p, %v, 0;
    @%p bra LOOP;""",
        "u64 x",
    )
    with pytest.raises(ptx.Endless):
        launch(text, "k", 1, 32, [np.zeros(1, np.int32)])


def test_what_decides_where_threads_go():
    """A count that is only stored afterwards does not, one that is compared does."""
    texts = {}
    for name, loop in {"counts": "n++", "compares": "if (++n > 99) break"}.items():
        kernel = Kernel(plain(f"while (x[5] == 0) {loop};"), "k")
        program = decode(kernel.entry)
        slots, timed = deadlock.deciding(program, frozenset(program.blocks) - {0})
        texts[name] = len(slots)
        assert not timed
    assert texts["counts"] < texts["compares"]
