"""What the data pipe carries beside loads and stores, against kernels measured on an H200.

The numbers are Nsight Compute's `l1tex__data_pipe_lsu_wavefronts.sum` for one block, of launches
that are not the first of their process.
"""

import numpy as np
import pytest

from anywarp import Kernel
from anywarp.trace import pipe_overheads
from anywarp.trace.metrics import CONFLICTS, PIPE, SHARED_INSTRUCTIONS, TENSOR, WAVEFRONTS

PRE = """
extern __shared__ int s[];
extern "C" __global__ void k(int* out, int n)
{
    unsigned t = threadIdx.x, v = t;
    unsigned a = (unsigned)__cvta_generic_to_shared(s + t);
"""
STS = 'asm volatile("st.shared.u32 [%0], %1;" :: "r"(a), "r"(t) : "memory");'


def asm(text: str) -> str:
    return f'asm volatile("{text}" ::: "memory");'


BAR = asm("bar.sync 0;")
OWN = "out[t] = v;"  # a wavefront of a warp
# (what is done, threads) -> measured, without OWN
MEASURED = {
    (STS + BAR, 32): 4,
    (STS + BAR, 256): 18,
    (4 * (STS + BAR), 64): 18,
    (4 * (STS + BAR), 256): 48,
    (STS + 4 * BAR, 1024): 66,
    (BAR, 32): 3,
    (BAR, 256): 10,
    ("v = __syncthreads_or(v);", 256): 10,
    ("v = out[t]; if (v == 12345) out[2000] = 1;", 256): 16 + 8,
    (4 * asm("cp.async.commit_group;"), 128): 16 + 4,
    (4 * asm("cp.async.wait_all;"), 128): 16 + 4,
    (4 * asm("cp.async.wait_group 0;"), 128): 0 + 4,
    (2 * asm("membar.gl;"), 128): 40 + 4,
    (2 * asm("fence.acq_rel.cluster;"), 128): 40 + 4,
    (2 * asm("fence.proxy.async;"), 128): 32 + 4,
    (2 * asm("fence.proxy.async.global;"), 128): 0 + 4,
    (2 * asm("membar.cta;"), 32): 6 + 1,
    (2 * asm("cp.async.bulk.wait_group 0;"), 32): 4 + 1,
    (2 * asm("cp.async.bulk.wait_group.read 0;"), 32): 0 + 1,
    (4 * 'asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(v));', 128): 20,
    (4 * 'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(v));', 128): 20,
    (4 * 'asm volatile("redux.sync.add.u32 %0, %0, -1;" : "+r"(v));', 128): 4,
}


@pytest.mark.parametrize("what", MEASURED, ids=lambda what: f"{what[0][:60]} {what[1]}")
def test_what_was_measured(what):
    body, threads = what
    kernel = Kernel(PRE + body + OWN + "}", "k")
    trace = kernel.trace(1, threads, (np.zeros(2048, np.int32), 0), shared_mem=4096)
    assert trace.warps == threads // 32
    assert sum(trace.pipe(kernel).values()) == MEASURED[what] + threads // 32


LOADS = """
    for (int i = 0; i < 8; ++i)
        s[t + 128 * i] = t;
    SYNC
    for (int i = 0; i < 4; ++i) {
        int x;
        asm volatile("ld.u32 %0, [%1];" : "=r"(x) : "l"(POINTER + 128 * i) : "memory");
        v += x;
    }
    SYNC
"""
CLUSTER = asm("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")
THERE = """
    unsigned rank;
    int* there;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(s + STRIDE * t), "r"(RANK));
"""


@pytest.mark.parametrize(
    "rank, stride, pipe, wavefronts, conflicts",
    [
        (None, 1, 232, 64, 0),  # of a block without a cluster
        (None, 2, 296, 128, 64),
        ("rank", 1, 384, 64, 0),
        ("rank", 2, 448, 128, 64),
        ("rank ^ 1", 1, 384, 0, 0),
        ("rank ^ 1", 2, 448, 0, 0),
        ("0", 1, 384, 16, 0),  # the own one for one block of four
        ("0", 2, 448, 32, 16),
    ],
)
def test_loads_that_need_not_be_of_shared_memory(rank, stride, pipe, wavefronts, conflicts):
    """No instructions of shared memory, and wavefronts of it for what the own block has."""
    if rank is None:
        body = LOADS.replace("POINTER", "p").replace("SYNC", BAR, 1).replace("SYNC", "")
        body = f"int* p = (n == 0 ? s : out) + {stride} * t;" + body
    else:
        body = THERE.replace("STRIDE", str(stride)).replace("RANK", rank) + LOADS
        body = body.replace("SYNC", CLUSTER).replace("POINTER", "there")
    source = PRE if rank is None else PRE.replace("void k", "void __cluster_dims__(4, 1, 1) k")
    kernel = Kernel(source + body + "out[blockIdx.x * 128 + t] = v; }", "k")
    trace = kernel.trace(4, 128, (np.zeros(2048, np.int32), 0), shared_mem=4096)
    found = [trace.counters[name.format("ld")] for name in (WAVEFRONTS, CONFLICTS)]
    assert found == [wavefronts, conflicts]
    assert trace.counters[SHARED_INSTRUCTIONS.format("ld")] == 0
    assert sum(trace.pipe(kernel).values()) == pipe


def test_the_causes_have_names():
    body = STS + BAR + "if (t < 32) v = __shfl_xor_sync(-1, v, 1);"
    kernel = Kernel(PRE + body + OWN + "}", "k")
    trace = kernel.trace(2, 64, (np.zeros(64, np.int32), 0), shared_mem=256)
    assert trace.pipe(kernel) == {
        pipe_overheads.LOADS_AND_STORES: trace.counters[PIPE],
        pipe_overheads.THREAD_INDEX: 4,
        pipe_overheads.BARRIERS: 4,
        pipe_overheads.EXCHANGES: 2,
    }


def test_a_shared_load_that_no_lane_takes_part_in():
    load = "{.reg .pred p; setp.gt.s32 p, %2, 0; @p ld.shared.u32 %0, [%1];}"
    body = f'asm volatile("{load}" : "+r"(v) : "r"(a), "r"(n) : "memory");'
    kernel = Kernel(PRE + STS + body + OWN + "}", "k")
    args = np.zeros(64, np.int32), 0
    assert kernel.trace(1, 64, args, shared_mem=256).beside == {pipe_overheads.INACTIVE: 2}
    assert not +kernel.trace(1, 64, (args[0], 1), shared_mem=256).beside


def test_a_copy_that_no_lane_makes():
    """A wavefront of each warp: measured, `pipeline_of_three` of the corpus."""
    copy = "{.reg .pred p; setp.gt.s32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], 4;}"
    body = f'asm volatile("{copy} cp.async.wait_all;" :: "r"(a), "l"(out + t), "r"(n) : "memory");'
    kernel = Kernel(PRE + STS + body + OWN + "}", "k")
    none, all_ = (
        kernel.trace(1, 64, (np.zeros(64, np.int32), n), shared_mem=256).beside for n in (0, 1)
    )
    assert none[pipe_overheads.INACTIVE] == all_[pipe_overheads.INACTIVE] + 2


WMMA = """
extern "C" __global__ void k(int* out)
{{
    {type} a[{a}] = {{}}, b[{b}] = {{}};
    {total} c[8] = {{}};
    asm volatile("wmma.mma.sync.aligned.row.col.{shape} {{%0,%1,%2,%3,%4,%5,%6,%7}},"
        "{{{registers}}}, {{%0,%1,%2,%3,%4,%5,%6,%7}};" : {c} : {ab});
    out[threadIdx.x] = c[0];
}}"""


@pytest.mark.parametrize("kind, shape, instructions", [
    ("s8", "m16n16k16.s32.s8.s8.s32", 2), ("tf32", "m16n16k8.f32.tf32.tf32.f32", 4),
])  # fmt: skip
def test_products_of_wmma(kind, shape, instructions):
    """Counted on the H200: two instructions of the tensor cores, of tf32 four."""
    n = 2 if kind == "s8" else 4
    letter, total = ("r", "int") if kind == "s8" else ("f", "float")
    source = WMMA.format(
        type="unsigned", total=total, a=n, b=n, shape=shape,
        registers=",".join(f"%{8 + i}" for i in range(n)) + "}, {"
        + ",".join(f"%{8 + n + i}" for i in range(n)),
        c=", ".join(f'"+{letter}"(c[{i}])' for i in range(8)),
        ab=", ".join(f'"r"({x}[{i}])' for x in "ab" for i in range(n)),
    )  # fmt: skip
    trace = Kernel(source, "k").trace(1, 64, (np.zeros(64, np.int32),))
    assert trace.counters[TENSOR] == 2 * instructions
