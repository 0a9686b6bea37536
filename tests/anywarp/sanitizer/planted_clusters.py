"""More kernels for the sanitizer: blocks of a cluster that reach each other's shared memory;
correct ones, and the same with one fault planted. Marked like those in `planted`."""

from __future__ import annotations

from planted import edit, marked, small
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
PART = "part = sum[0];"
READS = "READ_FROM(value, &part, t);"
BEFORE = "    SYNC;\n    if (rank"
AFTER = "    }\n    SYNC;\n}\n"
TOTALS = "512 float[512] float[2]"

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
SMOOTHS = "line[now ^ 1][t + 1] = line[now][t] + line[now][t + 2];"
SENDS = "WRITE_TO(&line[now][me ? 33 : 0], me ^ 1, line[now][t + 1]);"
ONE_BUFFER = edit(HALO, ("int now = k % 2;", "int now = 0;"))
LINES = "3 float[128] float[128]"

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
STAGES = "320 float[320] out:float[128]"
BOTH = "FILL_BOTH(stage[s], in + k * 64, 256, &full[s]);"

# every thread adds to sums of the other block
RED = (
    CLUSTERS
    + """\
#define ADD_TO(p, rank, value, b) asm volatile("{ .reg .b32 a, c;" \\
    " mapa.shared::cluster.u32 a, %0, %2; mapa.shared::cluster.u32 c, %3, %2;" \\
    " red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32" \\
    " [a], %1, [c]; }" :: AT(p), "r"(value), "r"(rank), AT(b) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) counts(int n, const int* in, int* out)
{
    __shared__ int count[4];
    __shared__ alignas(8) unsigned long long full;
    int t = threadIdx.x, me = rank();
    if (t < 4)
        count[t] = 0;
    if (t == 0) {
        INIT(&full, 1);
        PROXY;
        EXPECT(&full, 512);
    }
    SYNC;
    ADD_TO(&count[in[blockIdx.x * 64 + t] & 3], me ^ 1, t, &full);
    ADD_TO(&count[t & 3], me ^ 1, 1, &full);
    WAIT(&full, 0);
    if (t < 4)
        out[blockIdx.x * 4 + t] = count[t];
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
AFTER_READING = "got[t ^ 1];\n}\n"
TELLS = "    WAIT(&sent, 0);\n    SYNC;\n"

# the first barrier of the cluster tells of nothing but what the fence is for
RELAXED = edit(
    MULTICAST,
    (
        "    SYNC;\n    if (t < 64)",
        '    asm volatile("barrier.cluster.arrive.relaxed.aligned;");\n'
        "    GOES_ON;\n    if (t < 64)",
    ),
)
INITIALISED = "fence.mbarrier_init.release.cluster;"

CORRECT = (
    small("memory barriers begin with a relaxed arrival", RELAXED, "sums", 2, 96, STAGES),
    small("stores that report to their sender", TOLD, "swap", 2, 64, "128 int[128] int[128]"),
    small("sums in the other block", RED, "counts", 2, 64, "128 int[128] int[8]"),
    small("a reduction over a cluster", REDUCTION, "total", 8, 64, TOTALS),
    small("a halo of each block", HALO, "smooth", 4, 32, LINES),
    small("a halo in one buffer", ONE_BUFFER, "smooth", 4, 32, LINES),
    small("bulk copies to both blocks", MULTICAST, "sums", 2, 96, STAGES),
)

FAULTY = (
    small(
        "the sender does not tell the other block that the bytes are there",
        edit(
            TOLD,
            (TELLS, "    WAIT(&sent, 0);\n"),
            (AFTER_READING, AFTER_READING.replace("}\n", "    SYNC;\n}\n")),
            marked("= got[t ^ 1];", "fault"),
            marked("&sent, me);", "other"),
        ),
        "swap",
        2,
        64,
        "128 int[128] int[128]",
        "asynchronous copy",
    ),
    small(
        "a relaxed arrival without a fence",
        edit(
            RELAXED,
            (INITIALISED, ""),
            marked("INIT(&full[s], 1);", "other"),
            marked("INIT(&empty[s], 4);", "other"),
            marked("                WAIT(&full[s], (k / 2) & 1);", "fault"),
            marked("WAIT(&full[s], (k / 2) & 1);", "fault"),
            marked("ARRIVE_AT(&empty[s], 0);", "fault"),
            marked("WAIT(&empty[s], (k / 2 - 1) & 1);", "fault"),
            marked("EXPECT(&full[s], 256);", "fault"),
            marked(BOTH, "fault"),
        ),
        "sums",
        2,
        96,
        STAGES,
        "barrier",
    ),
    small(
        "no barrier of the cluster before",
        edit(
            REDUCTION,
            (BEFORE, BEFORE.replace("SYNC", "__syncthreads()")),
            marked(READS, "fault"),
            marked(PART, "other"),
        ),
        "total",
        8,
        64,
        TOTALS,
        "race",
        "out of bounds",
    ),
    small(
        "no barrier of the cluster after",
        edit(REDUCTION, (AFTER, "    }\n}\n"), marked(READS, "fault")),
        "total",
        8,
        64,
        TOTALS,
        "out of bounds",
    ),
    small(
        "a block may have exited",
        edit(
            REDUCTION,
            (
                AFTER,
                "    } else\n        for (volatile int k = 0; k < 20; ++k)\n            ;\n}\n",
            ),
            marked(READS, "fault"),
        ),
        "total",
        8,
        64,
        TOTALS,
        "out of bounds",
    ),
    small(
        "sums of the other block are read too early",
        edit(
            RED,
            ("    WAIT(&full, 0);\n    if (t < 4)\n", "    if (t < 4)\n"),
            ("    SYNC;\n}\n", "    WAIT(&full, 0);\n    SYNC;\n}\n"),
            marked("out[blockIdx.x * 4 + t] = count[t];", "fault"),
            marked("ADD_TO(&count[in[blockIdx.x * 64 + t] & 3], me ^ 1, t, &full);", "other"),
            marked("ADD_TO(&count[t & 3], me ^ 1, 1, &full);", "other"),
        ),
        "counts",
        2,
        64,
        "128 int[128] int[8]",
        "asynchronous copy",
    ),
    small(
        "a block has exited",
        edit(
            REDUCTION,
            (AFTER, "    }\n}\n"),
            (
                "if (rank() == 0 && t < 4) {",
                "if (rank() == 0 && t < 4) {\n"
                "        for (volatile int k = 0; k < 20; ++k)\n            ;",
            ),
            marked(READS, "fault"),
        ),
        "total",
        8,
        64,
        TOTALS,
        "out of bounds",
    ),
    small(
        "a halo is sent too early",
        edit(
            HALO,
            ("        SYNC;\n        line", "        __syncthreads();\n        line"),
            marked(SMOOTHS, "fault"),
            marked(SENDS, "other"),
        ),
        "smooth",
        4,
        32,
        LINES,
        "race",
    ),
    small(
        "written after the arrival",
        edit(
            ONE_BUFFER,
            (
                "        " + SMOOTHS + "\n        ARRIVES;\n",
                "        ARRIVES;\n        " + SMOOTHS + "\n",
            ),
            marked(SMOOTHS, "other"),
            marked(SENDS, "fault"),
        ),
        "smooth",
        4,
        32,
        LINES,
        "race",
    ),
    small(
        "filled for both before the other has read",
        edit(
            MULTICAST,
            ("INIT(&empty[s], 4)", "INIT(&empty[s], 2)"),
            (
                "            if (t % 32 == 0)\n                ARRIVE_AT(&empty[s], 0);",
                "            if (t % 32 == 0 && me == 0)\n                ARRIVE_AT(&empty[s], 0);",
            ),
            marked("sum += stage[s][t] + stage[s][63 - t];", "fault"),
            marked(BOTH, "fault other"),
        ),
        "sums",
        2,
        96,
        STAGES,
        "asynchronous copy",
    ),
)
