"""More kernels for the sanitizer: pipelines of asynchronous copies, with memory barriers and
proxy fences; correct ones, and the same with one fault planted. Marked like those in `planted`."""

from __future__ import annotations

from planted import edit, marked, small

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
READ = "sum += stage[s][t] + stage[s][127 - t];"
FILLS = "FILL(stage[s], in + k * 128, 512, &full[s]);"
WAIT_FULL = "            WAIT(&full[s], (k / 3) & 1);\n"
WAIT_EMPTY = "                if (k >= 3)\n                    WAIT(&empty[s], (k / 3 - 1) & 1);\n"
EXPECTS = "EXPECT(&full[s], 512);"
START = "        PROXY;\n    }\n    __syncthreads();\n"
SUMS = "1280 float[20,128] out:float[256]"

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
SINGLE_FILL = "FILL(stage[s], in + s * 64, 256, &full[s]);"
REFILL = "FILL(stage[s], in + (k + 2) * 64, 256, &full[s]);"
SINGLE_WAIT = "        WAIT(&full[s], (k / 2) & 1);\n"
ROW = "320 float[320] out:float[64]"

# one thread waits, and a barrier of the block tells the others
ONE_WAITS = edit(
    SINGLE,
    (SINGLE_WAIT, "        if (t == 5)\n    " + SINGLE_WAIT + "        __syncthreads();\n"),
)

# the warps arrive when they have read, and a thread of the last one fills the stage again
GIVEN_BACK = edit(
    SINGLE,
    ("stage[2][64]", "stage[2][128]"),
    ("long long full[2];", "long long full[2], empty[2];"),
    ("tiles = n / 64", "tiles = n / 128"),
    (SINGLE_INIT, SINGLE_INIT + "\n        INIT(&empty[0], 4);\n        INIT(&empty[1], 4);"),
    ("EXPECT(&full[s], 256);\n            FILL(stage[s], in + s * 64, 256",
     "EXPECT(&full[s], 512);\n            FILL(stage[s], in + s * 128, 512"),
    (SINGLE_READ, "sum += stage[s][t] * stage[s][127 - t];"),
    (
        "        __syncthreads();\n        if (t == 0 && k + 2 < tiles) {\n"
        "            EXPECT(&full[s], 256);\n            " + REFILL,
        "        __syncwarp();\n        if (t % 32 == 0)\n            ARRIVE(&empty[s]);\n"
        "        if (t == 96 && k + 2 < tiles) {\n            WAIT(&empty[s], (k / 2) & 1);\n"
        "            EXPECT(&full[s], 512);\n"
        "            FILL(stage[s], in + (k + 2) * 128, 512, &full[s]);",
    ),
)  # fmt: skip
GIVEN_ROW = "512 float[512] out:float[128]"

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
TURNED = "out[k * 64 + t - 64] = stage[s][127 - t];"
COPIES = "COPY(&stage[s][t], &in[k * 64 + t]);"

# as ARRIVING, with arrivals of their own: one more is pending until the copies are there
INCREASING = edit(
    ARRIVING,
    ("arrive.noinc.shared", "arrive.shared"),
    ("COPIED(&full[s]);\n", "COPIED(&full[s]);\n            ARRIVE(&full[s]);\n"),
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
BOX = "box[t] = 2.0f * in[k + t];"
DRAINS = "DRAIN(out + k, box, 1024);"
BOXES = "1024 float[1024] out:float[1024]"

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
LAST_TURN = "        OVER(state, &bar);\n    }\n"

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
LOADS = (
    ': "=r"(a) : AT(&from[other][lane % 8 * 4]) : "memory");',
    ':: AT(&to[warp][lane % 8 * 4]), "r"(a) : "memory");',
)

CORRECT = (
    small("tiles of a warp", MATRICES, "turned", 1, 128, "128 int[128] out:int[128]"),
    small("warp-specialised bulk copies", SPECIALISED, "sums", 2, 160, SUMS),
    small("a single producer, two stages", SINGLE, "sums", 1, 64, ROW),
    small("one thread waits for all", ONE_WAITS, "sums", 1, 64, ROW),
    small("stages given back by arrivals", GIVEN_BACK, "sums", 1, 128, GIVEN_ROW),
    small(
        "cp.async arrives, without increase",
        ARRIVING,
        "turned",
        1,
        128,
        "512 float[512] out:float[512]",
    ),
    small(
        "cp.async arrives",
        edit(INCREASING, ("INIT(&full[t], 64)", "INIT(&full[t], 64)")),
        "turned",
        1,
        128,
        "512 float[512] out:float[512]",
    ),
    small("bulk stores of an epilogue", EPILOGUE, "scaled", 1, 256, BOXES),
    small("bulk stores by warps", WARPS_STORE, "scaled", 1, 128, BOXES),
    small("handed over by a memory barrier", HANDED, "turns", 2, 64, "5 int[128]"),
    small("reductions of blocks", ADDED, "added", 4, 64, "64 float[256] float[64]"),
)

FAULTY = (
    small(
        "ldmatrix before the barrier",
        edit(
            MATRICES,
            ("in[t];\n    __syncthreads();", "in[t]; // other"),
            (
                'ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"\n                 ',
                'ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" ',
            ),
            marked(LOADS[0], "fault"),
        ),
        "turned",
        1,
        128,
        "128 int[128] out:int[128]",
        "race",
    ),
    small(
        "stmatrix without a proxy fence",
        edit(
            MATRICES,
            ("    PROXY;\n", ""),
            ('[%0], {%1};"\n                 ', '[%0], {%1};" '),
            marked(LOADS[1], "other"),
            marked("DRAIN(out, to, 512);", "fault"),
        ),
        "turned",
        1,
        128,
        "128 int[128] out:int[128]",
        "race",
    ),
    small(
        "full not waited for",
        edit(SPECIALISED, (WAIT_FULL, ""), marked(READ, "fault"), marked(FILLS, "fault")),
        "sums",
        2,
        160,
        "384 float[3,256] out:float[256]",
        "asynchronous copy",
    ),
    small(
        "empty not waited for",
        edit(SPECIALISED, (WAIT_EMPTY, ""), marked(EXPECTS, "fault")),
        "sums",
        2,
        160,
        SUMS,
        "barrier",
    ),
    small(
        "waits for full instead of empty",
        edit(
            SPECIALISED,
            ("WAIT(&empty[s], (k / 3 - 1) & 1);", "WAIT(&full[s], (k / 3 - 1) & 1);"),
            marked("WAIT(&full[s], (k / 3) & 1);", "fault"),
            marked(READ, "fault"),
            marked(FILLS, "other"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "barrier",
        "asynchronous copy",
    ),
    small(
        "empty arrives before the read",
        edit(
            SPECIALISED,
            (
                "            __syncwarp();\n            if (t % 32 == 0)\n"
                "                ARRIVE(&empty[s]);\n",
                "",
            ),
            (
                "            " + READ,
                "            if (t % 32 == 0)\n                ARRIVE(&empty[s]);\n            "
                + READ,
            ),
            marked(READ, "other"),
            marked(FILLS, "fault"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "race",
    ),
    small(
        "empty arrives before the warp is done",
        edit(
            SPECIALISED,
            ("            __syncwarp();\n", ""),
            marked(READ, "other"),
            marked(FILLS, "fault"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "race",
    ),
    small(
        "no fence, and no barrier of the block",
        edit(
            SINGLE,
            ("        PROXY;\n", ""),
            marked(SINGLE_INIT, "other"),
            marked("INIT(&full[1], 1);", "other"),
            marked(SINGLE_FILL, "fault"),
        ),
        "sums",
        1,
        64,
        ROW,
        "barrier",
    ),
    small(
        "initialised without a barrier",
        edit(
            SINGLE,
            ("    __syncthreads();\n    for", "    for"),
            marked(SINGLE_INIT, "other"),
            marked("INIT(&full[1], 1);", "other"),
            (
                "        WAIT(&full[s], (k / 2) & 1);\n",
                "        WAIT(&full[s], (k / 2) & 1); // fault\n",
            ),
        ),
        "sums",
        1,
        64,
        ROW,
        "barrier",
    ),
    small(
        "one thread waits for itself alone",
        edit(
            SINGLE,
            (SINGLE_WAIT, "        if (t == 5)\n    " + SINGLE_WAIT),
            marked(SINGLE_READ, "fault"),
            marked(SINGLE_FILL, "other"),
            marked(REFILL, "other"),
        ),
        "sums",
        1,
        64,
        ROW,
        "asynchronous copy",
    ),
    small(
        "waits for the other stage",
        edit(
            SINGLE,
            (SINGLE_WAIT, "        WAIT(&full[0], 0);\n"),
            marked(SINGLE_READ, "fault"),
            marked(SINGLE_FILL, "fault"),
            ("k + 2 < tiles", "k < 0"),
        ),
        "sums",
        1,
        64,
        "128 float[128] out:float[64]",
        "asynchronous copy",
    ),
    small(
        "refilled before the barrier",
        edit(
            SINGLE,
            (SINGLE_READ + "\n        __syncthreads();", SINGLE_READ),
            marked(SINGLE_READ, "other"),
            marked(REFILL, "fault"),
        ),
        "sums",
        1,
        64,
        ROW,
        "race",
    ),
    small(
        "too many bytes expected",
        edit(
            SPECIALISED,
            (EXPECTS, "EXPECT(&full[s], k == tiles - 1 ? 528 : 512);"),
            marked("WAIT(&full[s], (k / 3) & 1);", "fault"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "barrier",
    ),
    small(
        "too many bytes expected, and nobody waits",
        edit(
            SINGLE,
            (
                "    out[t] = sum;\n",
                "    if (t == 0)\n        EXPECT(&full[0], 16); // fault\n    out[t] = sum;\n",
            ),
        ),
        "sums",
        1,
        64,
        ROW,
        "barrier",
    ),
    small(
        "too few bytes expected",
        edit(
            SPECIALISED,
            (EXPECTS, "EXPECT(&full[s], k / 3 ? 768 : 256);"),
            (
                FILLS,
                "FILL(stage[s], in + k * 128, 256, &full[s]);\n"
                "                FILL(stage[s] + 64, in + k * 128 + 64, 256, &full[s]);",
            ),
            marked("FILL(stage[s] + 64, in + k * 128 + 64, 256, &full[s]);", "fault other"),
            marked(READ, "fault"),
            marked("EXPECT(&full[s], k / 3 ? 768 : 256);", "fault"),
        ),
        "sums",
        1,
        160,
        "768 float[768] out:float[128]",
        "barrier",
        "asynchronous copy",
    ),
    small(
        "more bytes than expected",
        edit(
            SINGLE,
            (
                "    out[t] = sum;\n",
                "    if (t == 0) {\n        FILL(stage[0], in, 256, &full[0]);\n"
                "        LOOK(&full[0], 0);\n    }\n    out[t] = sum;\n",
            ),
            (
                "k + 2 < tiles) {\n            EXPECT(&full[s], 256);",
                "k + 2 < tiles) {\n            EXPECT(&full[s], 256); // fault",
            ),
        ),
        "sums",
        1,
        64,
        "192 float[192] out:float[64]",
        "barrier",
    ),
    small(
        "a copy nobody waits for",
        edit(
            SINGLE,
            ("k + 2 < tiles", "k < tiles"),
            ("in + (k + 2) * 64, 256", "in, 256"),
            marked("FILL(stage[s], in, 256, &full[s]);", "fault"),
        ),
        "sums",
        1,
        64,
        ROW,
        "asynchronous copy",
    ),
    small(
        "cp.async arrives, and nobody waits",
        edit(
            ARRIVING,
            ("            WAIT(&full[s], (k / 2) & 1);\n", ""),
            marked(TURNED, "fault"),
            marked(COPIES, "fault other"),
        ),
        "turned",
        1,
        128,
        "128 float[512] out:float[512]",
        "asynchronous copy",
    ),
    small(
        "cp.async overwrites what is read",
        edit(
            ARRIVING,
            ("            ARRIVE(&empty[s]);\n", ""),
            ("            " + TURNED, "            ARRIVE(&empty[s]);\n            " + TURNED),
            marked(TURNED, "other"),
            marked(COPIES, "fault"),
        ),
        "turned",
        1,
        128,
        "512 float[512] out:float[512]",
        "race",
    ),
    small(
        "no proxy fence",
        edit(EPILOGUE, ("        PROXY;\n", ""), marked(BOX, "other"), marked(DRAINS, "fault")),
        "scaled",
        1,
        256,
        BOXES,
        "race",
    ),
    small(
        "a proxy fence of the wrong thread",
        edit(
            EPILOGUE,
            ("        PROXY;\n", ""),
            ("            DRAIN(out", "            PROXY;\n            DRAIN(out"),
            marked(BOX, "other"),
            marked(DRAINS, "fault"),
        ),
        "scaled",
        1,
        256,
        BOXES,
        "race",
    ),
    small(
        "no barrier before a bulk store",
        edit(
            EPILOGUE,
            ("        PROXY;\n        __syncthreads();\n", "        PROXY;\n"),
            marked(BOX, "other"),
            marked(DRAINS, "fault"),
        ),
        "scaled",
        1,
        256,
        BOXES,
        "race",
    ),
    small(
        "overwritten while a bulk store reads",
        edit(
            EPILOGUE,
            ("        if (t == 0)\n            DRAINED;\n        __sync", "        __sync"),
            marked(BOX, "fault"),
            marked(DRAINS, "other"),
        ),
        "scaled",
        1,
        256,
        BOXES,
        "asynchronous copy",
    ),
    small(
        "no barrier after the wait for a bulk store",
        edit(
            EPILOGUE,
            ("            DRAINED;\n        __syncthreads();\n", "            DRAINED;\n"),
            marked(BOX, "fault"),
            marked(DRAINS, "other"),
        ),
        "scaled",
        1,
        256,
        BOXES,
        "race",
    ),
    small(
        "handed over too early",
        edit(
            HANDED,
            (LAST_TURN, "    }\n"),
            marked("box[t] = t + k;", "fault other"),
            marked("out[blockIdx.x * 64 + t] += box[63 - t];", "fault other"),
        ),
        "turns",
        1,
        64,
        "5 int[128]",
        "race",
    ),
    small(
        "a memory barrier without initialisation",
        edit(
            SPECIALISED,
            ("            INIT(&empty[s], 4);\n", ""),
            marked("WAIT(&empty[s], (k / 3 - 1) & 1);", "fault"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "barrier",
    ),
    small(
        "arrives too seldom",
        edit(
            SPECIALISED,
            ("INIT(&empty[s], 4)", "INIT(&empty[s], 5)"),
            ("WAIT(&empty[s], (k / 3 - 1) & 1);", "WAIT(&empty[s], (k / 3 - 1) & 1); // fault"),
        ),
        "sums",
        2,
        160,
        SUMS,
        "barrier",
    ),
    small(
        "one arrival too few is expected",  # a phase is over before the last warp has come
        edit(
            SPECIALISED,
            ("INIT(&empty[s], 4)", "INIT(&empty[s], 3)"),
            marked(FILLS, "fault other"),
        ),
        "sums",
        2,
        160,
        "512 float[8,128] out:float[256]",
        "asynchronous copy",
    ),
    small(
        "one arrival too few, the one that fills is the last",  # which are counted is open
        edit(
            GIVEN_BACK,
            ("INIT(&empty[0], 4)", "INIT(&empty[0], 3)"),
            ("INIT(&empty[1], 4)", "INIT(&empty[1], 3)"),
            marked("FILL(stage[s], in + (k + 2) * 128, 512, &full[s]);", "fault"),
            marked("sum += stage[s][t] * stage[s][127 - t];", "other"),
        ),
        "sums",
        1,
        128,
        GIVEN_ROW,
        "race",
    ),
    small(
        "bulk stores of blocks to one place",
        edit(
            ADDED,
            (".add.f32", ""),
            ("cp.reduce.async.bulk.global", "cp.async.bulk.global"),
            marked("ADD(out, box, 256);", "fault other"),
        ),
        "added",
        4,
        64,
        "64 float[256] float[64]",
        "race",
    ),
)
