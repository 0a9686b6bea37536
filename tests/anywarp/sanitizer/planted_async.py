"""More kernels for the sanitizer: pipelines of asynchronous copies, with memory barriers and
proxy fences; correct ones, and the same with one fault planted, in a table as that of `planted`."""

from __future__ import annotations

from planted import edit

WORDS = """\
#define AT(p) "r"((unsigned)__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" \\
    :: AT(b), "r"(n) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \\
    :: AT(b), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: AT(b) : "memory")
#define WAIT(b, parity) asm volatile("{ .reg .pred p; again: " \\
    "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" \\
    :: AT(b), "r"(parity) : "memory")
#define LOOK(b, parity) asm volatile("{ .reg .pred p; " \\
    "mbarrier.test_wait.parity.shared::cta.b64 p, [%0], %1; }" :: AT(b), "r"(parity) : "memory")
#define FILL(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global" \\
    ".mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \\
    :: AT(to), "l"(from), "r"(n), AT(b) : "memory")
#define DRAIN(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group" \\
    " [%0], [%1], %2;" :: "l"(to), AT(from), "r"(n) : "memory")
#define COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define DRAINED asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define PROXY asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \\
    :: AT(to), "l"(from) : "memory")
"""

# a warp whose first lane fills three stages, and four warps that read them
SPECIALISED = (
    WORDS
    + """\
extern "C" __global__ void sums(int n, const float* in, float* out)
{
    __shared__ alignas(128) float stage[3][128];
    __shared__ alignas(8) unsigned long long full[3], empty[3];
    int t = threadIdx.x, tiles = n / 128;
    in += blockIdx.x * n;
    if (t == 0) {
        for (int s = 0; s < 3; ++s) {
            INIT(&full[s], 1);
            INIT(&empty[s], 4);
        }
        PROXY;
    }
    __syncthreads();
    if (t >= 128) {
        if (t == 128)
            for (int k = 0; k < tiles; ++k) {
                int s = k % 3;
                if (k >= 3)
                    WAIT(&empty[s], (k / 3 - 1) & 1);
                EXPECT(&full[s], 512);
                FILL(stage[s], in + k * 128, 512, &full[s]);
            }
    } else {
        float sum = 0.0f;
        for (int k = 0; k < tiles; ++k) {
            int s = k % 3;
            WAIT(&full[s], (k / 3) & 1);
            sum += stage[s][t] + stage[s][127 - t];
            __syncwarp();
            if (t % 32 == 0)
                ARRIVE(&empty[s]);
        }
        out[blockIdx.x * 128 + t] = sum;
    }
}
"""
)

# thread 0 fills two stages, all threads read them; a barrier of the block gives them back
SINGLE = (
    WORDS
    + """\
extern "C" __global__ void sums(int n, const float* in, float* out)
{
    __shared__ alignas(128) float stage[2][64];
    __shared__ alignas(8) unsigned long long full[2];
    int t = threadIdx.x, tiles = n / 64;
    float sum = 0.0f;
    if (t == 0) {
        INIT(&full[0], 1);
        INIT(&full[1], 1);
        PROXY;
        for (int s = 0; s < 2; ++s) {
            EXPECT(&full[s], 256);
            FILL(stage[s], in + s * 64, 256, &full[s]);
        }
    }
    __syncthreads();
    for (int k = 0; k < tiles; ++k) {
        int s = k % 2;
        WAIT(&full[s], (k / 2) & 1);
        sum += stage[s][t] * stage[s][63 - t];
        __syncthreads();
        if (t == 0 && k + 2 < tiles) {
            EXPECT(&full[s], 256);
            FILL(stage[s], in + (k + 2) * 64, 256, &full[s]);
        }
    }
    out[t] = sum;
}
"""
)
SINGLE_READ = "sum += stage[s][t] * stage[s][63 - t];"
SINGLE_INIT = "INIT(&full[0], 1);"
REFILL = "FILL(stage[s], in + (k + 2) * 64, 256, &full[s]);"
SINGLE_WAIT = "        WAIT(&full[s], (k / 2) & 1);\n"

# one thread waits, and a barrier of the block tells the others
ONE_WAITS = edit(
    SINGLE, (SINGLE_WAIT, "        if (t == 5)\n    " + SINGLE_WAIT + "        __syncthreads();\n")
)

# copies of each thread, which arrive at a memory barrier; others read them
ARRIVING = (
    WORDS
    + """\
#define COPIED(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" \\
    :: AT(b) : "memory")
extern "C" __global__ void turned(int n, const float* in, float* out)
{
    __shared__ float stage[2][64];
    __shared__ alignas(8) unsigned long long full[2], empty[2];
    int t = threadIdx.x, tiles = n / 64;
    if (t < 2) {
        INIT(&full[t], 64);
        INIT(&empty[t], 64);
    }
    __syncthreads();
    if (t < 64) {
        for (int k = 0; k < tiles; ++k) {
            int s = k % 2;
            if (k >= 2)
                WAIT(&empty[s], (k / 2 - 1) & 1);
            COPY(&stage[s][t], &in[k * 64 + t]);
            COPIED(&full[s]);
        }
    } else {
        for (int k = 0; k < tiles; ++k) {
            int s = k % 2;
            WAIT(&full[s], (k / 2) & 1);
            out[k * 64 + t - 64] = stage[s][127 - t];
            ARRIVE(&empty[s]);
        }
    }
}
"""
)

# results go to global memory through shared memory, tile after tile
EPILOGUE = (
    WORDS
    + """\
extern "C" __global__ void scaled(int n, const float* in, float* out)
{
    __shared__ alignas(128) float box[256];
    int t = threadIdx.x;
    for (int k = 0; k < n; k += 256) {
        if (t == 0)
            DRAINED;
        __syncthreads();
        box[t] = 2.0f * in[k + t];
        PROXY;
        __syncthreads();
        if (t == 0) {
            DRAIN(out + k, box, 1024);
            COMMIT;
        }
    }
    if (t == 0)
        DRAINED;
}
"""
)

# each warp stores its own part, and waits within the warp alone
WARPS_STORE = (
    WORDS
    + """\
extern "C" __global__ void scaled(int n, const float* in, float* out)
{
    __shared__ alignas(128) float box[4][32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int k = 0; k < n; k += 128) {
        box[warp][31 - lane] = 2.0f * in[k + t];
        PROXY;
        __syncwarp();
        if (lane == 0) {
            DRAIN(out + k + 32 * warp, box[warp], 128);
            COMMIT;
            DRAINED;
        }
        __syncwarp();
    }
}
"""
)

# ordinary stores, handed from warps to warps by memory barriers, with states instead of parities
HANDED = (
    WORDS
    + """\
#define TOKEN(state, b) asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" \\
    : "=l"(state) : AT(b) : "memory")
#define OVER(state, b) asm volatile("{ .reg .pred p; again: " \\
    "mbarrier.test_wait.shared::cta.b64 p, [%0], %1; @!p bra again; }" \\
    :: AT(b), "l"(state) : "memory")
extern "C" __global__ void turns(int n, int* out)
{
    __shared__ int box[64];
    __shared__ alignas(8) unsigned long long bar;
    int t = threadIdx.x;
    unsigned long long state;
    if (t == 7)
        INIT(&bar, 64);
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        box[t] = t + k;
        TOKEN(state, &bar);
        OVER(state, &bar);
        out[blockIdx.x * 64 + t] += box[63 - t];
        TOKEN(state, &bar);
        OVER(state, &bar);
    }
}
"""
)

# sums of blocks, added up where they belong by the copy
ADDED = (
    WORDS
    + """\
#define ADD(to, from, n) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group" \\
    ".add.f32 [%0], [%1], %2;" :: "l"(to), AT(from), "r"(n) : "memory")
extern "C" __global__ void added(int n, const float* in, float* out)
{
    __shared__ alignas(128) float box[64];
    int t = threadIdx.x;
    box[t] = in[blockIdx.x * 64 + t];
    PROXY;
    __syncthreads();
    if (t == 0) {
        ADD(out, box, 256);
        COMMIT;
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
"""
)

# matrices of a warp: each row by a lane, stored and loaded as 8x8 tiles, turned
MATRICES = (
    WORDS
    + """\
extern "C" __global__ void turned(int n, const int* in, int* out)
{
    __shared__ alignas(128) int from[4][32], to[4][32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, other = warp ^ 1;
    from[warp][lane] = in[t];
    __syncthreads();
    int a;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(a) : AT(&from[other][lane % 8 * 4]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                 :: AT(&to[warp][lane % 8 * 4]), "r"(a) : "memory");
    PROXY;
    __syncthreads();
    if (t == 0) {
        DRAIN(out, to, 512);
        COMMIT;
        DRAINED;
    }
}
"""
)


TABLE = r"""
== MATRICES turned 1 128 0 128 int[128] out:int[128]
tiles of a warp:
tiles of a warp, filled in part:
    from[warp][lane] --> if (lane < 16) from[warp][lane]
    = if (t == 0) {
      if (lane % 4 < 2) {
      out[t] = to[warp][lane];
    - DRAIN(out, to, 512);
tiles of a warp, a column too many: uninitialised
    from[warp][lane] --> if (lane < 16) from[warp][lane]
    : AT(&from[other][lane % 8 * 4]) : "memory"); // fault
    = if (t == 0) {
      if (lane % 4 < 3) {
      out[t] = to[warp][lane];
    - DRAIN(out, to, 512);
ldmatrix before the barrier: race
    from[warp][lane] = in[t]; // other
    - __syncthreads();
    : AT(&from[other][lane % 8 * 4]) : "memory"); // fault
stmatrix without a proxy fence: race
    :: AT(&to[warp][lane % 8 * 4]), "r"(a) : "memory"); // other
    - PROXY;
    DRAIN(out, to, 512); // fault
== SPECIALISED sums 2 160 0 1280 float[20,128] out:float[256]
warp-specialised bulk copies:
empty not waited for: barrier
    - if (k >= 3)
    - WAIT(&empty[s], (k / 3 - 1) & 1);
    EXPECT(&full[s], 512); // fault
waits for full instead of empty: asynchronous copy, barrier
    WAIT(&empty[s] --> WAIT(&full[s]
    FILL(stage[s], in + k * 128, 512, &full[s]); // other
    WAIT(&full[s], (k / 3) & 1); // fault
    sum += stage[s][t] + stage[s][127 - t]; // fault
empty arrives before the read: race
    FILL(stage[s], in + k * 128, 512, &full[s]); // fault
    - sum += stage[s][t] + stage[s][127 - t];
    - __syncwarp();
    + ARRIVE(&empty[s]);
      sum += stage[s][t] + stage[s][127 - t]; // other
empty arrives before the warp is done: race
    FILL(stage[s], in + k * 128, 512, &full[s]); // fault
    sum += stage[s][t] + stage[s][127 - t]; // other
    - __syncwarp();
too many bytes expected: barrier
    EXPECT(&full[s], 512 --> EXPECT(&full[s], k == tiles - 1 ? 528 : 512
    WAIT(&full[s], (k / 3) & 1); // fault
a memory barrier without initialisation: barrier
    - INIT(&empty[s], 4);
    WAIT(&empty[s], (k / 3 - 1) & 1); // fault
== SPECIALISED sums 2 160 0 384 float[3,256] out:float[256]
full not waited for: asynchronous copy
    FILL(stage[s], in + k * 128, 512, &full[s]); // fault
    - WAIT(&full[s], (k / 3) & 1);
    sum += stage[s][t] + stage[s][127 - t]; // fault
== SPECIALISED sums 1 160 0 768 float[768] out:float[128]
too few bytes expected: asynchronous copy, barrier
    - EXPECT(&full[s], 512);
    = FILL(stage[s], in + k * 128, 512, &full[s]);
      EXPECT(&full[s], k / 3 ? 768 : 256); // fault
      FILL(stage[s], in + k * 128, 256, &full[s]);
      FILL(stage[s] + 64, in + k * 128 + 64, 256, &full[s]); // fault other
    sum += stage[s][t] + stage[s][127 - t]; // fault
== SPECIALISED sums 2 160 0 512 float[8,128] out:float[256]
one arrival too few is expected: asynchronous copy
    INIT(&empty[s], 4) --> INIT(&empty[s], 3)
    FILL(stage[s], in + k * 128, 512, &full[s]); // fault other
== SINGLE sums 1 64 0 320 float[320] out:float[64]
a single producer, two stages:
no fence, and no barrier of the block: barrier
    INIT(&full[0], 1); // other
    INIT(&full[1], 1); // other
    - PROXY;
    FILL(stage[s], in + s * 64, 256, &full[s]); // fault
initialised without a barrier: barrier
    INIT(&full[0], 1); // other
    INIT(&full[1], 1); // other
    - __syncthreads();
    WAIT(&full[s], (k / 2) & 1); // fault
one thread waits for itself alone: asynchronous copy
    FILL(stage[s], in + s * 64, 256, &full[s]); // other
    + int s = k % 2;
      if (t == 5)
    sum += stage[s][t] * stage[s][63 - t]; // fault
    FILL(stage[s], in + (k + 2) * 64, 256, &full[s]); // other
refilled before the barrier: race
    sum += stage[s][t] * stage[s][63 - t]; // other
    - #2 __syncthreads();
    FILL(stage[s], in + (k + 2) * 64, 256, &full[s]); // fault
too many bytes expected, and nobody waits: barrier
    + #6 }
      if (t == 0)
      EXPECT(&full[0], 16); // fault
a copy nobody waits for: asynchronous copy
    k + 2 < --> k <
    in + (k + 2) * 64 --> in // fault
== SINGLE sums 1 64 0 128 float[128] out:float[64]
waits for the other stage: asynchronous copy
    FILL(stage[s], in + s * 64, 256, &full[s]); // fault
    WAIT(&full[s], (k / 2) & 1) --> WAIT(&full[0], 0)
    sum += stage[s][t] * stage[s][63 - t]; // fault
    k + 2 < tiles --> k < 0
== SINGLE sums 1 64 0 192 float[192] out:float[64]
more bytes than expected: barrier
    #2 EXPECT(&full[s], 256); // fault
    + #6 }
      if (t == 0) {
      FILL(stage[0], in, 256, &full[0]);
      LOOK(&full[0], 0);
      }
== ONE_WAITS sums 1 64 0 320 float[320] out:float[64]
one thread waits for all:
== ARRIVING turned 1 128 0 512 float[512] out:float[512]
cp.async arrives, without increase:
cp.async overwrites what is read: race
    COPY(&stage[s][t], &in[k * 64 + t]); // fault
    + WAIT(&full[s], (k / 2) & 1);
      ARRIVE(&empty[s]);
    out[k * 64 + t - 64] = stage[s][127 - t]; // other
    - ARRIVE(&empty[s]);
== ARRIVING turned 1 128 0 128 float[512] out:float[512]
cp.async arrives, and nobody waits: asynchronous copy
    COPY(&stage[s][t], &in[k * 64 + t]); // fault other
    - WAIT(&full[s], (k / 2) & 1);
    out[k * 64 + t - 64] = stage[s][127 - t]; // fault
== EPILOGUE scaled 1 256 0 1024 float[1024] out:float[1024]
bulk stores of an epilogue:
no proxy fence: race
    box[t] = 2.0f * in[k + t]; // other
    - PROXY;
    DRAIN(out + k, box, 1024); // fault
a proxy fence of the wrong thread: race
    box[t] = 2.0f * in[k + t]; // other
    - PROXY;
    + if (t == 0) {
      PROXY;
    DRAIN(out + k, box, 1024); // fault
no barrier before a bulk store: race
    box[t] = 2.0f * in[k + t]; // other
    - #2 __syncthreads();
    DRAIN(out + k, box, 1024); // fault
overwritten while a bulk store reads: asynchronous copy
    - if (t == 0)
    - DRAINED;
    box[t] = 2.0f * in[k + t]; // fault
    DRAIN(out + k, box, 1024); // other
no barrier after the wait for a bulk store: race
    - __syncthreads();
    box[t] = 2.0f * in[k + t]; // fault
    DRAIN(out + k, box, 1024); // other
== WARPS_STORE scaled 1 128 0 1024 float[1024] out:float[1024]
bulk stores by warps:
== HANDED turns 2 64 0 5 int[128]
handed over by a memory barrier:
== HANDED turns 1 64 0 5 int[128]
handed over too early: race
    box[t] = t + k; // fault other
    out[blockIdx.x * 64 + t] += box[63 - t]; // fault other
    - #2 OVER(state, &bar);
== ADDED added 4 64 0 64 float[256] float[64]
reductions of blocks:
bulk stores of blocks to one place: race
    - to, from, n) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group" \
    = ".add.f32 [%0], [%1], %2;" :: "l"(to), AT(from), "r"(n) : "memory")
      #define ADD(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group" \
      " [%0], [%1], %2;" :: "l"(to), AT(from), "r"(n) : "memory")
    ADD(out, box, 256); // fault other
"""
