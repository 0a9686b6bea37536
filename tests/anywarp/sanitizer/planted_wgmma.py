"""More kernels for the sanitizer: products of warpgroups; correct ones, and the same with one
fault planted, in a table as that of `planted`."""

from __future__ import annotations

from planted import edit
from planted_async import WORDS

# m64n16k16: a stage holds A, 2048 bytes, and B, 512 bytes, in core matrices of 128 bytes
PRODUCTS = (
    """\
// Products of warpgroups
//
// compute capability: 9.0a
"""
    + WORDS
    + """\
#define MULTIPLY(d, a, b) asm volatile( \\
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " \\
    "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;" \\
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), \\
      "+f"(d[7]) : "l"(a), "l"(b) : "memory")
#define MULTIPLY_REGISTERS(d, a, b) asm volatile( \\
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " \\
    "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, 0;" \\
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), \\
      "+f"(d[7]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory")
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define GROUP asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define PENDING(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
__device__ __forceinline__ unsigned long long tile(const void* p, unsigned long long apart)
{
    unsigned long long at = (unsigned)__cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | apart >> 4 << 16 | 8ull << 32;
}
"""
)

# thread 0 of the block fills two stages; a product is waited for when the next one is issued
BUFFERED = (
    PRODUCTS
    + """\
extern "C" __global__ void product(int n, const int* words, float* out)
{
    const char* in = (const char*)words;
    __shared__ alignas(128) char stage[3][2560];
    __shared__ alignas(8) unsigned long long full[3];
    int t = threadIdx.x;
    float d[8] = {};
    if (t == 0) {
        for (int s = 0; s < 3; ++s)
            INIT(&full[s], 1);
        PROXY;
        for (int s = 0; s < 2; ++s) {
            EXPECT(&full[s], 2560);
            FILL(stage[s], in + s * 2560, 2560, &full[s]);
        }
    }
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        int s = k % 3;
        WAIT(&full[s], (k / 3) & 1);
        FENCE;
        MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256));
        GROUP;
        PENDING(1);
        __syncthreads();
        if (t == 0 && k + 2 < n) {
            int next = (k + 2) % 3;
            EXPECT(&full[next], 2560);
            FILL(stage[next], in + (k + 2) * 2560, 2560, &full[next]);
        }
    }
    PENDING(0);
    for (int i = 0; i < 8; ++i)
        out[t * 8 + i] = d[i];
}
"""
)

# a producer warp, and two warpgroups of which one thread each gives a stage back
SPECIALISED = (
    PRODUCTS
    + """\
extern "C" __global__ void product(int n, const int* words, float* out)
{
    const char* in = (const char*)words;
    __shared__ alignas(128) char stage[3][4608];
    __shared__ alignas(8) unsigned long long full[3], empty[3];
    int t = threadIdx.x, group = t / 128;
    if (t == 0) {
        for (int s = 0; s < 3; ++s) {
            INIT(&full[s], 1);
            INIT(&empty[s], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 256)
            for (int k = 0; k < n; ++k) {
                int s = k % 3;
                WAIT(&empty[s], (k / 3 & 1) ^ 1);
                EXPECT(&full[s], 4608);
                FILL(stage[s], in + k * 4608, 2048, &full[s]);
                FILL(stage[s] + 2048, in + k * 4608 + 2048, 2560, &full[s]);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[8];
        for (int i = 0; i < 8; ++i)
            d[i] = 0.0f;
        for (int k = 0; k < n; ++k) {
            int s = k % 3;
            WAIT(&full[s], (k / 3) & 1);
            FENCE;
            MULTIPLY(d, tile(stage[s] + 2048 * group, 1024), tile(stage[s] + 4096, 256));
            GROUP;
            PENDING(1);
            if (k > 0 && t % 128 == 77)
                ARRIVE(&empty[(k - 1) % 3]);
        }
        PENDING(0);
        for (int i = 0; i < 8; ++i)
            out[t * 8 + i] = d[i] * 2.0f;
    }
}
"""
)

# ordinary stores of each thread, A in registers, and an epilogue through shared memory
STORED = (
    PRODUCTS
    + """\
extern "C" __global__ void product(int n, const unsigned* in, float* out)
{
    __shared__ alignas(128) unsigned b[128];
    __shared__ alignas(128) float box[1024];
    int t = threadIdx.x;
    float d[8] = {};
    unsigned a[4];
    for (int k = 0; k < n; ++k) {
        b[t] = in[k * 640 + t];
        PROXY;
        __syncthreads();
        for (int i = 0; i < 4; ++i)
            a[i] = in[k * 640 + 128 * (i + 1) + t] ^ 3;
        FENCE;
        MULTIPLY_REGISTERS(d, a, tile(b, 256));
        GROUP;
        PENDING(0);
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        box[t * 8 + i] = d[i];
    PROXY;
    __syncthreads();
    if (t == 0) {
        DRAIN(out, box, 4096);
        COMMIT;
        DRAINED;
    }
}
"""
)

# as STORED, filled by cp.async
COPIED = edit(
    STORED,
    (
        "b[t] = in[k * 640 + t];",
        'COPY(&b[t], &in[k * 640 + t]);\n        asm volatile("cp.async.wait_all;" ::: "memory");',
    ),
    ("        PROXY;\n", ""),
)

# one lane of each warp waits
LANES_WAIT = edit(
    BUFFERED,
    (
        "        WAIT(&full[s], (k / 3) & 1);\n",
        "        if (t % 32 == 7)\n            WAIT(&full[s], (k / 3) & 1);\n"
        "        __syncwarp();\n",
    ),
)

# tiles of which rows and columns at the end are not there; the sums of before are not added to
TILES = (
    PRODUCTS
    + """\
#define START(d, a, b) asm volatile( \\
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " \\
    "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 0, 1, 1, 0, 0;" \\
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), \\
      "+f"(d[7]) : "l"(a), "l"(b) : "memory")
extern "C" __global__ void product(int rows, int columns, const unsigned* A, const unsigned* B,
                                   float* out)
{
    __shared__ alignas(128) unsigned a[512], b[128];
    int t = threadIdx.x, row = t / 32 * 16 + t % 32 / 4;
    float d[8] = {};
    for (int more = 0; more < 2; ++more) {
        for (int i = t; i < rows * 8; i += 128)
            a[i % 8 / 4 * 256 + i / 64 * 32 + i / 8 % 8 * 4 + i % 4] = A[i];
        for (int i = t; i < columns * 8; i += 128)
            b[i % 8 / 4 * 64 + i / 64 * 32 + i / 8 % 8 * 4 + i % 4] = B[i];
        PROXY;
        __syncthreads();
        FENCE;
        START(d, tile(a, 1024), tile(b, 256));
        MULTIPLY(d, tile(a, 1024), tile(b, 256));
        GROUP;
        PENDING(0);
        for (int i = 0; i < 8; ++i) {
            int r = row + i / 2 % 2 * 8, c = t % 4 * 2 + i % 2 + i / 4 * 8;
            if (r < rows && c < columns)
                out[r * 16 + c] = d[i];
        }
        __syncthreads();
        rows += 2;
    }
}
"""
)
HALF_IN_REGISTERS = edit(
    TILES,
    ("        FENCE;\n", "        unsigned f[4];\n        TAKE;\n        FENCE;\n"),
    ("        MULTIPLY(d, tile(a, 1024), ", "        MULTIPLY_REGISTERS(d, f, "),
    (
        'extern "C"',
        "#define TAKE for (int i = 0; i < 4; ++i) f[i] = "
        'a[i / 2 * 256 + row / 8 * 32 + i % 2 * 32 + row % 8 * 4 + t % 4]\nextern "C"',
    ),
)

TABLE = r"""
== TILES product 1 128 0 37 11 unsigned[512] unsigned[128] out:float[1024]
wgmma of tiles filled in part:
a row of wgmma too many: uninitialised
    START(d, tile(a, 1024), tile(b, 256)); // fault
    r < rows --> r <= rows
a column of wgmma too many: uninitialised
    START(d, tile(a, 1024), tile(b, 256)); // fault
    c < columns --> c <= columns
a tile of wgmma that nobody fills: uninitialised
    START(d, tile(a, 1024), tile(b, 256)); // fault
    - b[i % 8 / 4 * 64 + i / 64 * 32 + i / 8 % 8 * 4 + i % 4] = B[i];
    = for (int i = t; i < columns * 8; i += 128)
== HALF_IN_REGISTERS product 1 128 0 37 11 unsigned[512] unsigned[128] out:float[1024]
wgmma of registers filled in part:
a row of registers too many: uninitialised
    TAKE; // fault
    START(d, tile(a, 1024), tile(b, 256)); --> for (auto& x : d) x = 0;
    r < rows --> r <= rows
== LANES_WAIT product 1 128 0 8 int[5120] out:float[1024]
wgmma, one lane of a warp waits:
== BUFFERED product 2 128 0 8 int[5120] out:float[1024]
wgmma over three stages:
== BUFFERED product 1 128 0 2 int[5120] out:float[1024]
wgmma before the copy: asynchronous copy
    FILL(stage[s], in + s * 2560, 2560, &full[s]); // fault
    - WAIT(&full[s], (k / 3) & 1);
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // fault
== BUFFERED product 1 128 0 8 int[5120] out:float[1024]
one warp waits for the copy: asynchronous copy
    FILL(stage[s], in + s * 2560, 2560, &full[s]); // other
    + int s = k % 3;
      if (t < 32)
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // fault
    FILL(stage[next], in + (k + 2) * 2560, 2560, &full[next]); // other
refilled while wgmma reads: asynchronous copy, race
    s < 2; + --> s < 3; +
    k < n; + --> k < 3; +
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // other
    - if (t == 0 && k + 2 < n) {
    = int next = (k + 2) % 3;
      if (t == 0 && k == 2) {
      int next = k % 3;
    FILL(stage[next], in + (k + 2) * 2560, 2560, &full[next]); // fault
accumulators read before the wait: tensor core registers
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // other
    - PENDING(0);
    out[t * 8 + i] = d[i]; // fault
accumulators changed before the wait: tensor core registers
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // other
    = PENDING(1);
      asm volatile("neg.f32 %0, %0;" : "+f"(d[0])); // fault
      PENDING(0);
what the compiler makes of accumulators before the wait:
    = PENDING(0);
      float twice, one, two;
      asm volatile("add.f32 %0, %3, %3; mov.f32 %1, %0; mov.f32 %2, %0;"
      "mov.f32 %1, 0f3F800000; cvt.rn.f32.u32 %2, %4;"
      : "=&f"(twice), "=&f"(one), "=&f"(two) : "f"(d[0]), "r"(t));
      out[t * 8] = one + two;
      PENDING(0);
      d[0] = twice;
and what is made of them is used: tensor core registers
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // other
    = PENDING(0);
      float twice;
      asm volatile("add.f32 %0, %1, %1;" : "=f"(twice) : "f"(d[0]));
      out[t] = twice; // fault
      PENDING(0);
and what is made of them is multiplied with: tensor core registers
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // other
    = PENDING(0);
      unsigned a[4] = {};
      float e[8] = {};
      asm volatile("cvt.rzi.u32.f32 %0, %1;" : "=r"(a[0]) : "f"(d[0]));
      FENCE;
      MULTIPLY_REGISTERS(e, a, tile(stage[0] + 2048, 256)); // fault
      GROUP;
      PENDING(0);
      d[0] += e[0];
accumulators kept in local memory between products:
    PENDING(1) --> PENDING(0)
    + MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256));
      for (int i = 0; i < 8; ++i)
      asm volatile("{.local .b32 kept; st.local.f32 [kept], %1; ld.local.f32 %0, [kept];}"
      : "=f"(d[i]) : "f"(d[i]));
      MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256));
no wgmma.fence: tensor core registers
    - FENCE;
    MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256)); // fault
a descriptor out of bounds: out of bounds
    2048, 256)) --> 2048, 65536)) // fault
== SPECIALISED product 1 384 0 8 int[9216] out:float[2048]
wgmma, warp-specialised:
given back before wgmma is done: race
    FILL(stage[s], in + k * 4608, 2048, &full[s]); // fault
    FILL(stage[s] + 2048, in + k * 4608 + 2048, 2560, &full[s]); // fault
    MULTIPLY(d, tile(stage[s] + 2048 * group, 1024), tile(stage[s] + 4096, 256)); // other
    - if (k > 0 && t % 128 == 77)
    = ARRIVE(&empty[(k - 1) % 3]);
      if (t % 128 == 77)
      ARRIVE(&empty[k % 3]);
== STORED product 1 128 0 4 int[4,640] out:float[1024]
wgmma with ordinary stores:
stored without a proxy fence: race
    b[t] = in[k * 640 + t]; // other
    - PROXY;
    MULTIPLY_REGISTERS(d, a, tile(b, 256)); // fault
stored without a barrier: race
    b[t] = in[k * 640 + t]; // other
    - __syncthreads();
    MULTIPLY_REGISTERS(d, a, tile(b, 256)); // fault
stored while wgmma reads: race
    b[t] = in[k * 640 + t]; // fault
    MULTIPLY_REGISTERS(d, a, tile(b, 256)); // other
    - PENDING(0);
    + #7 }
      PENDING(0);
no wgmma.fence after registers are written: tensor core registers
    a[i] = in[k * 640 + 128 * (i + 1) + t] ^ 3; // other
    + a[i] = in[k * 640 + 128 * (i + 1) + t] ^ 3;
      if (k == 0)
    MULTIPLY_REGISTERS(d, a, tile(b, 256)); // fault
A changed before the wait: tensor core registers
    MULTIPLY_REGISTERS(d, a, tile(b, 256)); // other
    + GROUP;
      asm volatile("add.u32 %0, %0, 1;" : "+r"(a[2])); // fault
    + #2 __syncthreads();
      out[t] = a[2];
== COPIED product 1 128 0 4 int[4,640] out:float[1024]
wgmma with cp.async:
"""
