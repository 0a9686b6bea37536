"""More kernels for the sanitizer: products of warpgroups; correct ones, and the same with one
fault planted. Marked like those in `planted`."""

from __future__ import annotations

from planted import edit, marked, small
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
MULTIPLIES = "MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 256));"
NEXT = "FILL(stage[next], in + (k + 2) * 2560, 2560, &full[next]);"
PRODUCT = "8 int[5120] out:float[1024]"

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
TILES = "MULTIPLY(d, tile(stage[s] + 2048 * group, 1024), tile(stage[s] + 4096, 256));"
FIRST, SECOND = (
    "FILL(stage[s], in + k * 4608, 2048, &full[s]);",
    "FILL(stage[s] + 2048, in + k * 4608 + 2048, 2560, &full[s]);",
)
PRODUCT_2 = "8 int[9216] out:float[2048]"

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
PUT = "b[t] = in[k * 640 + t];"
IN_REGISTERS = "MULTIPLY_REGISTERS(d, a, tile(b, 256));"
PRODUCT_3 = "4 int[4,640] out:float[1024]"

# as STORED, filled by cp.async
COPIED = edit(
    STORED,
    (
        PUT,
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

CORRECT = (
    small("wgmma, one lane of a warp waits", LANES_WAIT, "product", 1, 128, PRODUCT),
    small("wgmma over three stages", BUFFERED, "product", 2, 128, PRODUCT),
    small("wgmma, warp-specialised", SPECIALISED, "product", 1, 384, PRODUCT_2),
    small("wgmma with ordinary stores", STORED, "product", 1, 128, PRODUCT_3),
    small("wgmma with cp.async", COPIED, "product", 1, 128, PRODUCT_3),
)

FAULTY = (
    small(
        "wgmma before the copy",
        edit(
            BUFFERED,
            ("        WAIT(&full[s], (k / 3) & 1);\n", ""),
            marked(MULTIPLIES, "fault"),
            marked("FILL(stage[s], in + s * 2560, 2560, &full[s]);", "fault"),
        ),
        "product",
        1,
        128,
        "2 int[5120] out:float[1024]",
        "asynchronous copy",
    ),
    small(
        "one warp waits for the copy",
        edit(
            BUFFERED,
            (
                "        WAIT(&full[s], (k / 3) & 1);\n",
                "        if (t < 32)\n            WAIT(&full[s], (k / 3) & 1);\n",
            ),
            marked(MULTIPLIES, "fault"),
            marked("FILL(stage[s], in + s * 2560, 2560, &full[s]);", "other"),
            marked(NEXT, "other"),
        ),
        "product",
        1,
        128,
        PRODUCT,
        "asynchronous copy",
    ),
    small(
        "refilled while wgmma reads",
        edit(
            BUFFERED,
            ("int next = (k + 2) % 3;", "int next = k % 3;"),
            ("k + 2 < n", "k == 2"),
            ("n; ++k", "3; ++k"),
            ("s < 2", "s < 3"),
            marked(MULTIPLIES, "other"),
            marked(NEXT, "fault"),
        ),
        "product",
        1,
        128,
        PRODUCT,
        "race",
        "asynchronous copy",
    ),
    small(
        "given back before wgmma is done",
        edit(
            SPECIALISED,
            ("if (k > 0 && t % 128 == 77)", "if (t % 128 == 77)"),
            ("ARRIVE(&empty[(k - 1) % 3]);", "ARRIVE(&empty[k % 3]);"),
            marked(TILES, "other"),
            marked(FIRST, "fault"),
            marked(SECOND, "fault"),
        ),
        "product",
        1,
        384,
        PRODUCT_2,
        "race",
    ),
    small(
        "stored without a proxy fence",
        edit(STORED, ("        PROXY;\n", ""), marked(PUT, "other"), marked(IN_REGISTERS, "fault")),
        "product",
        1,
        128,
        PRODUCT_3,
        "race",
    ),
    small(
        "stored without a barrier",
        edit(
            STORED,
            ("        PROXY;\n        __syncthreads();\n", "        PROXY;\n"),
            marked(PUT, "other"),
            marked(IN_REGISTERS, "fault"),
        ),
        "product",
        1,
        128,
        PRODUCT_3,
        "race",
    ),
    small(
        "stored while wgmma reads",
        edit(
            STORED,
            ("        PENDING(0);\n        __syncthreads();\n", "        __syncthreads();\n"),
            (
                "    for (int i = 0; i < 8; ++i)\n        box",
                "    PENDING(0);\n    for (int i = 0; i < 8; ++i)\n        box",
            ),
            marked(PUT, "fault"),
            marked(IN_REGISTERS, "other"),
        ),
        "product",
        1,
        128,
        PRODUCT_3,
        "race",
    ),
    small(
        "accumulators read before the wait",
        edit(
            BUFFERED,
            ("    PENDING(0);\n", ""),
            ("        out[t * 8 + i] = d[i];", "        out[t * 8 + i] = d[i]; // fault"),
            marked(MULTIPLIES, "other"),
        ),
        "product",
        1,
        128,
        PRODUCT,
        "tensor core registers",
    ),
    small(
        "accumulators changed before the wait",
        edit(
            BUFFERED,
            (
                "        PENDING(1);\n",
                '        asm volatile("neg.f32 %0, %0;" : "+f"(d[0])); // fault\n'
                "        PENDING(0);\n",
            ),
            marked(MULTIPLIES, "other"),
        ),
        "product",
        1,
        128,
        PRODUCT,
        "tensor core registers",
    ),
    small(
        "no wgmma.fence",
        edit(BUFFERED, ("        FENCE;\n", ""), marked(MULTIPLIES, "fault")),
        "product",
        1,
        128,
        PRODUCT,
        "tensor core registers",
    ),
    small(
        "no wgmma.fence after registers are written",
        edit(
            STORED,
            ("        FENCE;\n", "        if (k == 0)\n            FENCE;\n"),
            (
                "a[i] = in[k * 640 + 128 * (i + 1) + t] ^ 3;",
                "a[i] = in[k * 640 + 128 * (i + 1) + t] ^ 3; // other",
            ),
            marked(IN_REGISTERS, "fault"),
        ),
        "product",
        1,
        128,
        PRODUCT_3,
        "tensor core registers",
    ),
    small(
        "A changed before the wait",
        edit(
            STORED,
            (
                "        GROUP;\n",
                "        GROUP;\n"
                '        asm volatile("add.u32 %0, %0, 1;" : "+r"(a[2])); // fault\n',
            ),
            (
                "        __syncthreads();\n    }\n",
                "        __syncthreads();\n        out[t] = a[2];\n    }\n",
            ),
            marked(IN_REGISTERS, "other"),
        ),
        "product",
        1,
        128,
        PRODUCT_3,
        "tensor core registers",
    ),
    small(
        "a descriptor out of bounds",
        edit(
            BUFFERED,
            ("tile(stage[s] + 2048, 256)", "tile(stage[s] + 2048, 65536)"),
            marked("MULTIPLY(d, tile(stage[s], 1024), tile(stage[s] + 2048, 65536));", "fault"),
        ),
        "product",
        1,
        128,
        PRODUCT,
        "out of bounds",
    ),
)
