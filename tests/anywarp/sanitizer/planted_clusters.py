"""More kernels for the sanitizer: blocks of a cluster that reach each other's shared memory;
correct ones, and the same with one fault planted, in a table as that of `planted`."""

from __future__ import annotations

from planted import edit
from planted_async import WORDS

CLUSTERS = (
    WORDS
    + """\
#define ARRIVES asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define GOES_ON asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define SYNC asm volatile("barrier.cluster.arrive.release.aligned;" \\
    "barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define READ_FROM(value, p, rank) asm volatile("{ .reg .b32 a;" \\
    " mapa.shared::cluster.u32 a, %1, %2;" \\
    " ld.shared::cluster.f32 %0, [a]; }" : "=f"(value) : AT(p), "r"(rank) : "memory")
#define WRITE_TO(p, rank, value) asm volatile("{ .reg .b32 a;" \\
    " mapa.shared::cluster.u32 a, %0, %1;" \\
    " st.shared::cluster.f32 [a], %2; }" :: AT(p), "r"(rank), "f"(value) : "memory")
#define ARRIVE_AT(b, rank) asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1;" \\
    " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" :: AT(b), "r"(rank) : "memory")
__device__ __forceinline__ unsigned rank()
{
    unsigned n;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(n));
    return n;
}
"""
)

# each block adds up its part, and the first one the sums of all
REDUCTION = (
    CLUSTERS
    + """\
extern "C" __global__ void __cluster_dims__(4, 1, 1) total(int n, const float* in, float* out)
{
    __shared__ float sum[64], part;
    int t = threadIdx.x;
    sum[t] = in[blockIdx.x * 64 + t];
    for (int step = 32; step > 0; step /= 2) {
        __syncthreads();
        if (t < step)
            sum[t] += sum[t + step];
    }
    if (t == 0)
        part = sum[0];
    SYNC;
    if (rank() == 0 && t < 4) {
        float value;
        READ_FROM(value, &part, t);
        atomicAdd(&out[blockIdx.x / 4], value);
    }
    SYNC;
}
"""
)

# each block writes its halo into its neighbours, step after step
HALO = (
    CLUSTERS
    + """\
extern "C" __global__ void __cluster_dims__(2, 1, 1) smooth(int n, const float* in, float* out)
{
    __shared__ float line[2][34];
    int t = threadIdx.x, me = rank();
    line[0][t + 1] = in[blockIdx.x * 32 + t];
    if (t == 0) {
        line[0][me ? 33 : 0] = 0.0f;
        line[1][me ? 33 : 0] = 0.0f;
    }
    SYNC;
    for (int k = 0; k < n; ++k) {
        int now = k % 2;
        if (t == (me ? 0 : 31))
            WRITE_TO(&line[now][me ? 33 : 0], me ^ 1, line[now][t + 1]);
        SYNC;
        line[now ^ 1][t + 1] = line[now][t] + line[now][t + 2];
        ARRIVES;
        out[blockIdx.x * 32 + t] = line[now ^ 1][t + 1];
        GOES_ON;
    }
}
"""
)
# a block fills the same stages in both, and both say when they have read theirs
MULTICAST = (
    CLUSTERS
    + """\
#define FILL_BOTH(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global" \\
    ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" \\
    :: AT(to), "l"(from), "r"(n), AT(b), "h"((unsigned short)3) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) sums(int n, const float* in, float* out)
{
    __shared__ alignas(128) float stage[2][64];
    __shared__ alignas(8) unsigned long long full[2], empty[2];
    int t = threadIdx.x, me = rank(), tiles = n / 64;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) {
            INIT(&full[s], 1);
            INIT(&empty[s], 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    SYNC;
    if (t < 64) {
        float sum = 0.0f;
        for (int k = 0; k < tiles; ++k) {
            int s = k % 2;
            WAIT(&full[s], (k / 2) & 1);
            sum += stage[s][t] + stage[s][63 - t];
            __syncwarp();
            if (t % 32 == 0)
                ARRIVE_AT(&empty[s], 0);
        }
        out[blockIdx.x * 64 + t] = sum;
    } else if (t == 64)
        for (int k = 0; k < tiles; ++k) {
            int s = k % 2;
            if (me == 0 && k >= 2)
                WAIT(&empty[s], (k / 2 - 1) & 1);
            EXPECT(&full[s], 256);
            if (me == 0)
                FILL_BOTH(stage[s], in + k * 64, 256, &full[s]);
            else if (k + 2 < tiles)
                WAIT(&full[s], (k / 2) & 1);
        }
    SYNC;
}
"""
)

# every thread stores in the other block, and its own block is told when the bytes are there
TOLD = (
    CLUSTERS
    + """\
#define SEND_TO(p, rank, value, b, own) asm volatile("{ .reg .b32 a, c;" \\
    " mapa.shared::cluster.u32 a, %0, %2; mapa.shared::cluster.u32 c, %3, %4;" \\
    " st.async.shared::cluster.mbarrier::complete_tx::bytes.u32" \\
    " [a], %1, [c]; }" :: AT(p), "r"(value), "r"(rank), AT(b), "r"(own) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(int n, const int* in, int* out)
{
    __shared__ int got[64];
    __shared__ alignas(8) unsigned long long sent;
    int t = threadIdx.x, me = rank();
    if (t == 0) {
        INIT(&sent, 1);
        PROXY;
        EXPECT(&sent, 256);
    }
    SYNC;
    SEND_TO(&got[t], me ^ 1, in[blockIdx.x * 64 + t], &sent, me);
    WAIT(&sent, 0);
    SYNC;
    out[blockIdx.x * 64 + t] = got[t ^ 1];
}
"""
)

# the first barrier of the cluster tells of nothing but what the fence is for
RELAXED = edit(
    MULTICAST,
    (
        "    SYNC;\n    if (t < 64)",
        '    asm volatile("barrier.cluster.arrive.relaxed.aligned;");\n'
        "    GOES_ON;\n    if (t < 64)",
    ),
)


TABLE = r"""
== RELAXED sums 2 96 0 320 float[320] out:float[128]
memory barriers begin with a relaxed arrival:
a relaxed arrival without a fence: barrier
    INIT(&full[s], 1); // other
    INIT(&empty[s], 4); // other
    "fence.mbarrier_init.release.cluster;" --> ""
    WAIT(&full[s], (k / 2) & 1); // fault
    ARRIVE_AT(&empty[s], 0); // fault
    WAIT(&empty[s], (k / 2 - 1) & 1); // fault
    EXPECT(&full[s], 256); // fault
    FILL_BOTH(stage[s], in + k * 64, 256, &full[s]); // fault
    #2 WAIT(&full[s], (k / 2) & 1); // fault
== TOLD swap 2 64 0 128 int[128] int[128]
stores that report to their sender:
the sender does not tell the other block that the bytes are there: asynchronous copy
    SEND_TO(&got[t], me ^ 1, in[blockIdx.x * 64 + t], &sent, me); // other
    + WAIT(&sent, 0);
      out[blockIdx.x * 64 + t] = got[t ^ 1]; // fault
    - out[blockIdx.x * 64 + t] = got[t ^ 1];
== REDUCTION total 8 64 0 512 float[512] float[2]
a reduction over a cluster:
no barrier of the cluster before: out of bounds, race
    part = sum[0]; // other
    SYNC; --> __syncthreads();
    READ_FROM(value, &part, t); // fault
no barrier of the cluster after: out of bounds
    READ_FROM(value, &part, t); // fault
    - #2 SYNC;
a block may have exited: out of bounds
    READ_FROM(value, &part, t); // fault
    + atomicAdd(&out[blockIdx.x / 4], value);
      } else
      for (volatile int k = 0; k < 20; ++k)
      ;
    - #2 SYNC;
    - #9 }
a block has exited: out of bounds
    + if (rank() == 0 && t < 4) {
      for (volatile int k = 0; k < 20; ++k)
      ;
    READ_FROM(value, &part, t); // fault
    - #2 SYNC;
== HALO smooth 4 32 0 3 float[128] float[128]
a halo of each block:
a halo is sent too early: race
    WRITE_TO(&line[now][me ? 33 : 0], me ^ 1, line[now][t + 1]); // other
    #2 SYNC; --> __syncthreads();
    line[now ^ 1][t + 1] = line[now][t] + line[now][t + 2]; // fault
== MULTICAST sums 2 96 0 320 float[320] out:float[128]
bulk copies to both blocks:
filled for both before the other has read: asynchronous copy
    INIT(&empty[s], 4) --> INIT(&empty[s], 2)
    sum += stage[s][t] + stage[s][63 - t]; // fault
    32 == 0) --> 32 == 0 && me == 0)
    FILL_BOTH(stage[s], in + k * 64, 256, &full[s]); // fault other
"""
