"""More kernels for the sanitizer: locks, flags, fences, lanes of a warp and padding; correct
ones, and the same with one fault planted. Marked like those in `planted`."""

from __future__ import annotations

from planted import edit, marked, small

# every warp's first lane adds to a sum that a lock guards
LOCK = """\
extern "C" __global__ void guarded(int* lock, int* sum)
{
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
        *sum += threadIdx.x + blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}
"""
ADD = "*sum += threadIdx.x + blockIdx.x;"
FENCE = "        __threadfence();\n"

SHARED_LOCK = """\
extern "C" __global__ void guarded(int* out)
{
    __shared__ int lock, sum;
    if (threadIdx.x == 0) {
        lock = 0;
        sum = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 5) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence_block();
        sum += threadIdx.x;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
"""
SHARED_FENCE = "        __threadfence_block();\n"

# as LOCK, with the order in the atomics themselves, as cuda::atomic_ref compiles
ACQUIRING_LOCK = """\
extern "C" __global__ void guarded(int* lock, int* sum)
{
    if (threadIdx.x % 32 == 0) {
        int old;
        do
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                         : "=r"(old) : "l"(lock) : "memory");
        while (old != 0);
        *sum += threadIdx.x + blockIdx.x;
        asm volatile("st.release.gpu.global.u32 [%0], 0;" :: "l"(lock) : "memory");
    }
}
"""

# the first thread of block 0 sends two numbers to that of block 1
MESSAGE = """\
extern "C" __global__ void message(int* flag, int* data, int* out)
{
    volatile int* seen = flag;
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 7;
        data[1] = 8;
        __threadfence();
        *seen = 1;
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (*seen == 0)
            ;
        __threadfence();
        out[0] = data[0] + data[1];
    }
}
"""
MESSAGE_ARGS = "zero:int[1] out:int[2] out:int[1]"
SEND, SUM = "data[1] = 8;", "out[0] = data[0] + data[1];"

RELEASE = """\
extern "C" __global__ void message(int* flag, int* data, int* out)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 7;
        asm volatile("st.release.gpu.u32 [%0], 1;" :: "l"(flag) : "memory");
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        int seen;
        do
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        while (seen == 0);
        out[0] = data[0];
    }
}
"""
# warp 1 waits for warp 0, through a flag in shared memory
SHARED_RELEASE = """\
extern "C" __global__ void message(int* out)
{
    __shared__ int flag, data[32];
    unsigned place = (unsigned)__cvta_generic_to_shared(&flag);
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[threadIdx.x] = threadIdx.x;
        __syncwarp();
        if (threadIdx.x == 0)
            asm volatile("st.release.cta.shared.u32 [%0], 1;" :: "r"(place) : "memory");
    } else {
        int seen;
        do
            asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                         : "=r"(seen) : "r"(place) : "memory");
        while (seen == 0);
        out[threadIdx.x - 32] = data[63 - threadIdx.x];
    }
}
"""

# what block 0 tells block 1, block 1 tells block 2
CHAIN = """\
extern "C" __global__ void chain(int* flag, int* data, int* out)
{
    volatile int* seen = flag;
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0)
            data[0] = 7;
        else
            while (seen[blockIdx.x - 1] == 0)
                ;
        __threadfence();
        if (blockIdx.x == 2)
            out[0] = data[0];
        seen[blockIdx.x] = 1;
    }
}
"""

GRID_BARRIER = """\
__device__ void everybody(unsigned* count)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
        while (*(volatile unsigned*)count < gridDim.x)
            ;
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void turn(unsigned* count, float* data, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    data[i] = i;
    everybody(count);
    out[i] = data[n - 1 - i];
}
"""

# all threads leave a number, and all pass the fence before the barrier
LAST_OF_ALL = """\
extern "C" __global__ void total(float* partial, unsigned* done, float* out)
{
    __shared__ bool last;
    partial[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 64 * gridDim.x; ++i)
            sum += partial[i];
        *out = sum;
    }
}
"""
TOTAL_ARGS = "out:float[256] zero:unsigned[1] out:float[1]"
LEAVE = "partial[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;"
COLLECT = "sum += partial[i];"

ADD_DOUBLE = """\
__device__ double add(double* address, double value)
{
    unsigned long long* place = (unsigned long long*)address;
    unsigned long long old = *place, assumed;
    do {
        assumed = old;
        old = atomicCAS(place, assumed,
                        __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
extern "C" __global__ void total(const double* in, double* sum)
{
    add(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}
"""
MAX_FLOAT = """\
extern "C" __global__ void largest(const float* in, float* out)
{
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];
    int old = *(int*)out;
    while (value > __int_as_float(old)) {
        int assumed = old;
        old = atomicCAS((int*)out, assumed, __float_as_int(value));
        if (old == assumed)
            break;
    }
}
"""

STRUCTS = """\
struct Pair { char key; int value; short rest; };
extern "C" __global__ void swap(Pair* out)
{
    __shared__ Pair box[64];
    int t = threadIdx.x;
    box[t].key = t;
    box[t].value = 2 * t;
    box[t].rest = 3;
    __syncthreads();
    out[t] = box[t ^ 1];
}
"""
# the padding of a struct goes through shared memory twice, and a part is taken out of a copy
STRUCTS_TWICE = """\
struct Item { double weight; char key; };
extern "C" __global__ void swap(Item* out, int* keys)
{
    __shared__ Item box[64], other[64];
    int t = threadIdx.x;
    box[t].weight = t;
    box[t].key = t;
    __syncthreads();
    other[t] = box[t ^ 1];
    __syncthreads();
    Item item = other[t ^ 2];
    out[t] = item;
    keys[t] = item.key;
}
"""

# and with 16 bytes at a time: only a part of the last word is padding
STRUCTS_BY_VECTORS = """\
struct __align__(16) Particle { float x, y, z; char kind; };
extern "C" __global__ void swap(Particle* out, int* kinds)
{
    __shared__ Particle box[64], other[64];
    int t = threadIdx.x;
    box[t].x = box[t].y = box[t].z = t;
    box[t].kind = t;
    __syncthreads();
    other[t] = box[t ^ 1];
    __syncthreads();
    out[t] = other[t ^ 2];
    kinds[t] = other[t ^ 2].kind;
}
"""

LEAVES_EARLY = """\
extern "C" __global__ void early(int n, const float* in, float* out)
{
    __shared__ float box[64];
    int i = threadIdx.x;
    if (i >= n) {
        out[i] = 0.0f;
        return;
    }
    float sum = 0.0f;
    for (int step = 0; step < 3; ++step) {
        box[i] = in[i + step];
        __syncthreads();
        sum += box[n - 1 - i];
        __syncthreads();
    }
    out[i] = sum;
}
"""
SCAN = """\
extern "C" __global__ void scan(int n, const float* in, float* out)
{
    int i = threadIdx.x, lane = i % 32;
    if (i >= n)
        return;
    float sum = in[i];
    for (int step = 1; step < 32; step *= 2) {
        float other = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step)
            sum += other;
    }
    __syncwarp();
    out[i] = sum;
}
"""
# the second stage of a reduction: lanes above the rest read lanes that take no part, in vain
TREE = """\
extern "C" __global__ void tree(const float* in, float* out)
{
    __shared__ float partial[8];
    float sum = in[threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
        sum = partial[threadIdx.x];
        for (int step = 4; step > 0; step /= 2)
            sum += __shfl_down_sync(0xff, sum, step);
        if (threadIdx.x == 0)
            *out = sum;
    }
}
"""
TREE_STEP = "            sum += __shfl_down_sync(0xff, sum, step);"
SHORT_BLOCK = """\
extern "C" __global__ void tree(const float* in, float* out)
{
    float sum = in[threadIdx.x];
    for (int step = blockDim.x / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0)
        *out = sum;
}
"""
BALLOT = """\
extern "C" __global__ void chosen(int n, const float* in, float* out)
{
    int i = threadIdx.x;
    unsigned lanes = __ballot_sync(0xffffffff, i % 3 == 0);
    if (i % 3 == 0)
        out[i] = __shfl_sync(lanes, in[i], __ffs(lanes) - 1);
}
"""
BRANCH = """\
extern "C" __global__ void branch(const float* in, float* out)
{
    float x = in[threadIdx.x];
    if (threadIdx.x % 32 < 16)
        x += __shfl_xor_sync(0x0000ffff, x, 8);
    out[threadIdx.x] = x;
}
"""
XOR = "x += __shfl_xor_sync(0x0000ffff, x, 8);"

LOCK_ARGS = "zero:int[1] zero:int[1]"

# threads of one warp in turn take memory, use it and give it back: the same memory, each time
HEAP = """\
extern "C" __global__ void borrow(int* out)
{
    for (int turn = 0; turn < 4; ++turn)
        if (threadIdx.x == turn) {
            int* mine = (int*)malloc(4 * sizeof(int));
            mine[1] = turn;
            out[turn] = mine[1];
            free(mine);
        }
}
"""

CORRECT = (
    small("memory from malloc, again and again", HEAP, "borrow", 1, 32, "out:int[4]"),
    small("lock of a block", LOCK, "guarded", 1, 96, LOCK_ARGS),
    small("lock of a grid", LOCK, "guarded", 2, 64, LOCK_ARGS),
    small("lock in shared memory", SHARED_LOCK, "guarded", 1, 96, "out:int[2]"),
    small("lock of a block, its own fences", edit(
        LOCK, ("__threadfence", "__threadfence_block"), ("__threadfence()", "__threadfence_block()")
    ), "guarded", 1, 96, LOCK_ARGS),
    small("acquiring lock", ACQUIRING_LOCK, "guarded", 3, 32, LOCK_ARGS),
    small("message", MESSAGE, "message", 2, 32, MESSAGE_ARGS),
    small("message, acquire and release", RELEASE, "message", 2, 32, MESSAGE_ARGS),
    small("message in shared memory", SHARED_RELEASE, "message", 2, 64, "out:int[32]"),
    small("chain", CHAIN, "chain", 3, 32, "zero:int[3] out:int[1] out:int[1]"),
    small("grid barrier", GRID_BARRIER, "turn", 4, 64,
          "zero:unsigned[1] out:float[256] out:float[256]"),
    small("last block of all", LAST_OF_ALL, "total", 4, 64, TOTAL_ARGS),
    small("last block of all, which resets the ticket", edit(
        LAST_OF_ALL, ("        *out = sum;", "        *out = sum;\n        *done = 0;")
    ), "total", 4, 64, TOTAL_ARGS),
    small("double atomicAdd", ADD_DOUBLE, "total", 3, 64, "double[192] zero:double[1]"),
    small("float atomicMax", MAX_FLOAT, "largest", 3, 64, "float[192] zero:float[1]"),
    small("structs", STRUCTS, "swap", 1, 64, "out:int[192]"),
    small("structs, twice", STRUCTS_TWICE, "swap", 1, 64, "out:double[128] out:int[64]"),
    small("structs by vectors", STRUCTS_BY_VECTORS, "swap", 1, 64, "out:float[256] out:int[64]"),
    small("leaves early", LEAVES_EARLY, "early", 1, 64, "50 float[66] out:float[64]"),
    small("scan of a part", SCAN, "scan", 1, 64, "50 float[64] out:float[64]"),
    small("tree", TREE, "tree", 1, 256, "float[256] out:float[1]"),
    small("short block", SHORT_BLOCK, "tree", 1, 16, "float[256] out:float[1]"),
    small("ballot", BALLOT, "chosen", 1, 64, "64 float[64] out:float[64]"),
    small("branch", BRANCH, "branch", 1, 64, "float[64] out:float[64]"),
)  # fmt: skip

FAULTY = (
    small("memory from malloc, not written yet", edit(
        HEAP, marked("out[turn] = mine[1];", "fault"), ("mine[1] = turn;", "mine[0] = turn;")
    ), "borrow", 1, 32, "out:int[4]", "uninitialised"),
    small("lock, no fence", edit(
        LOCK, (FENCE, ""), (FENCE, ""), marked(ADD, "fault other")
    ), "guarded", 1, 96, LOCK_ARGS, "race"),
    small("lock, fence only before", edit(
        LOCK[::-1], (FENCE[::-1], "")
    )[::-1].replace(ADD, ADD + " // fault other"), "guarded", 1, 96, LOCK_ARGS, "race"),
    small("lock, fence only after", edit(
        LOCK, (FENCE, ""), marked(ADD, "fault other")
    ), "guarded", 3, 32, LOCK_ARGS, "race"),
    small("lock of a grid, fences of a block", edit(
        LOCK, ("__threadfence", "__threadfence_block"),
        ("__threadfence()", "__threadfence_block()"), marked(ADD, "fault other")
    ), "guarded", 3, 32, LOCK_ARGS, "race"),
    small("lock released too early", edit(
        LOCK, (FENCE + "        atomicExch(lock, 0);\n", ""),
        ("        " + ADD, FENCE + "        atomicExch(lock, 0);\n        " + ADD
         + " // fault other")
    ), "guarded", 3, 32, LOCK_ARGS, "race"),
    small("lock in shared memory, no fence", edit(
        SHARED_LOCK, (SHARED_FENCE, ""), (SHARED_FENCE, ""),
        marked("sum += threadIdx.x;", "fault other")
    ), "guarded", 1, 96, "out:int[2]", "race"),
    small("lock that acquires nothing", edit(
        ACQUIRING_LOCK, ("acquire.", "relaxed."), marked(ADD, "fault other")
    ), "guarded", 3, 32, LOCK_ARGS, "race"),
    small("flag before the data", edit(
        MESSAGE, ("        data[1] = 8;\n", ""),
        ("*seen = 1;", "*seen = 1;\n        data[1] = 8; // fault other"), marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("flag before the data, then a fence", edit(
        MESSAGE, ("        data[1] = 8;\n", ""),
        ("*seen = 1;", "*seen = 1;\n        data[1] = 8; // other\n        __threadfence();"),
        ("        while (*seen == 0)\n            ;\n",
         "        while (*seen == 0)\n            ;\n        for (int i = 0; i < 99; ++i)\n"
         "            *seen;\n"),
        marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("fence before the data", edit(
        MESSAGE, (FENCE, ""), ("        data[1]", FENCE + "        data[1]"),
        marked(SEND, "other"), marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("producer without a fence", edit(
        MESSAGE, (FENCE, ""), marked("data[0] = 7;", "other"), marked(SEND, "other"),
        marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("consumer without a fence", edit(
        MESSAGE[::-1], (FENCE[::-1], "")
    )[::-1].replace("data[0] = 7;", "data[0] = 7; // other").replace(SEND, SEND + " // other")
        .replace(SUM, SUM + " // fault"), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("fence of another thread", edit(
        MESSAGE, (FENCE, ""),
        ("    if (threadIdx.x == 0 && blockIdx.x == 1)",
         "    if (threadIdx.x == 1)\n        __threadfence();\n"
         "    if (threadIdx.x == 0 && blockIdx.x == 1)"),
        marked("data[0] = 7;", "other"), marked(SEND, "other"), marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("plain flag", edit(
        MESSAGE, ("*seen = 1;", "*flag = 1; // other"), ("while (*seen == 0)\n            ;\n",
         "if (*seen == 0) // fault\n            return;\n"), marked("data[0] = 7;", "other"),
        marked(SEND, "other"), marked(SUM, "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("relaxed, not release", edit(
        RELEASE, ("st.release", "st.relaxed"), marked("data[0] = 7;", "other"),
        marked("out[0] = data[0];", "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("relaxed, not acquire", edit(
        RELEASE, ("ld.acquire", "ld.relaxed"), marked("data[0] = 7;", "other"),
        marked("out[0] = data[0];", "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("release to the block only", edit(
        RELEASE, ("release.gpu", "release.cta"), marked("data[0] = 7;", "other"),
        marked("out[0] = data[0];", "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("acquire from the block only", edit(
        RELEASE, ("acquire.gpu", "acquire.cta"), marked("data[0] = 7;", "other"),
        marked("out[0] = data[0];", "fault")
    ), "message", 2, 32, MESSAGE_ARGS, "race"),
    small("release without the warp", edit(
        SHARED_RELEASE, ("        __syncwarp();\n", ""),
        marked("data[threadIdx.x] = threadIdx.x;", "other"),
        marked("data[63 - threadIdx.x];", "fault")
    ), "message", 2, 64, "out:int[32]", "race"),
    small("chain with a missing link", edit(
        CHAIN, ("seen[blockIdx.x - 1] == 0", "seen[blockIdx.x == 2 ? 3 : 0] == 0"),
        ("if (threadIdx.x == 0) {", "if (threadIdx.x == 1 && blockIdx.x == 1)\n"
         "        seen[3] = 1;\n    if (threadIdx.x == 0) {"),
        marked("data[0] = 7;", "other"), marked("out[0] = data[0];", "fault")
    ), "chain", 3, 32, "zero:int[4] out:int[1] out:int[1]", "race"),
    small("grid barrier without a fence", edit(
        GRID_BARRIER, (FENCE, ""), marked("data[i] = i;", "other"),
        marked("out[i] = data[n - 1 - i];", "fault")
    ), "turn", 4, 64, "zero:unsigned[1] out:float[256] out:float[256]", "race"),
    small("last block of all, no fence", edit(
        LAST_OF_ALL, ("    __threadfence();\n", ""), marked(LEAVE, "other"),
        marked(COLLECT, "fault")
    ), "total", 4, 64, TOTAL_ARGS, "race"),
    small("last block of all, fence after the ticket", edit(
        LAST_OF_ALL, ("    __threadfence();\n", ""),
        ("gridDim.x - 1;\n", "gridDim.x - 1;\n    __threadfence();\n"), marked(LEAVE, "other"),
        marked(COLLECT, "fault")
    ), "total", 4, 64, TOTAL_ARGS, "race"),
    small("last block of all, fence of one thread before the barrier", edit(
        LAST_OF_ALL,
        ("    __threadfence();", "    if (threadIdx.x == 0)\n        __threadfence();"),
        marked(LEAVE, "other"), marked(COLLECT, "fault")
    ), "total", 4, 64, TOTAL_ARGS, "race"),
    small("last block of all, the ticket reset by every block", edit(
        LAST_OF_ALL, ("== gridDim.x - 1;", "== gridDim.x - 1; // other"),
        ("    if (last &&",
         "    if (threadIdx.x == 1)\n        *done = 0; // fault\n    if (last &&")
    ), "total", 4, 64, TOTAL_ARGS, "race"),
    small("first block, not last", edit(
        LAST_OF_ALL, ("== gridDim.x - 1", "== 0"), marked(LEAVE, "other"),
        marked(COLLECT, "fault")
    ), "total", 4, 64, TOTAL_ARGS, "race"),
    small("a guess that is kept", edit(
        ADD_DOUBLE,
        ("    add(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);",
         "    sum[1 + blockIdx.x * blockDim.x + threadIdx.x] = sum[0]; // other\n"
         "    add(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);"),
        marked("old = atomicCAS(place, assumed,", "fault")
    ), "total", 3, 64, "double[192] zero:double[193]", "race"),
    small("a guess against a store", edit(
        MAX_FLOAT, marked("int old = *(int*)out;", "other"),
        ("    }\n}", "    }\n    if (threadIdx.x == 7)\n        *out = 5.0f; // fault\n}"),
        ("__float_as_int(value));", "__float_as_int(value)); // fault other")
    ), "largest", 1, 64, "float[64] zero:float[1]", "race"),
    small("store after a strong read", """\
extern "C" __global__ void flag(int* place, int* out)
{
    if (threadIdx.x == 0)
        out[0] = *(volatile int*)place; // other
    if (threadIdx.x == 40)
        *place = 3; // fault
}
""", "flag", 1, 64, "zero:int[1] out:int[1]", "race"),
    small("padding that is used", edit(
        STRUCTS, ("out[t] = box[t ^ 1];",
                  "((int*)out)[t] = ((int*)box)[3 * (t ^ 1)] + 1; // fault")
    ), "swap", 1, 64, "out:int[192]", "uninitialised"),
    small("a field that nobody set", edit(
        STRUCTS, ("    box[t].value = 2 * t;\n", ""), marked("out[t] = box[t ^ 1];", "fault")
    ), "swap", 1, 64, "out:int[192]", "uninitialised"),
    small("padding that is used after two copies", edit(
        STRUCTS_TWICE, ("keys[t] = item.key;", "keys[t] = ((int*)&other[t ^ 2])[2] * 3;"),
        marked("Item item = other[t ^ 2];", "fault")
    ), "swap", 1, 64, "out:double[128] out:int[64]", "uninitialised"),
    small("padding that is used after a copy by vectors", edit(
        STRUCTS_BY_VECTORS,
        ("kinds[t] = other[t ^ 2].kind;", "kinds[t] = ((int*)&other[t ^ 2])[3] * 3; // fault")
    ), "swap", 1, 64, "out:float[256] out:int[64]", "uninitialised"),
    small("loops of unequal length", edit(
        LEAVES_EARLY, ("step < 3", "step < n / 20 + i / 40"),
        ("        __syncthreads();", "        __syncthreads(); // fault"),
        ("n - 1 - i];\n        __syncthreads();", "n - 1 - i];\n        __syncthreads(); // fault")
    ), "early", 1, 64, "64 float[70] out:float[64]", "barrier"),
    small("full mask in a branch", edit(
        BRANCH, ("0x0000ffff", "0xffffffff"), ("x, 8);", "x, 8); // fault")
    ), "branch", 1, 64, "float[64] out:float[64]", "barrier"),
    small("vote of all in a branch", edit(
        BRANCH, (XOR, "x += __any_sync(0xffffffff, x > 0.5f); // fault")
    ), "branch", 1, 64, "float[64] out:float[64]", "barrier"),
    small("vote of some who return", edit(
        BRANCH, (XOR, "out[threadIdx.x] = __ballot_sync(0xffffffff, x > 0.5f); // fault\n    else"),
        ("16)", "16 && x > 0.0f)")
    ), "branch", 1, 64, "float[64] out:float[64]", "barrier"),
    small("__syncwarp of all in a branch", edit(
        BRANCH, ("        " + XOR, "        { x += 1.0f; __syncwarp(); out[64 + threadIdx.x] = x; }"
                 " // fault")
    ), "branch", 1, 64, "float[64] out:float[128]", "barrier"),
    small("a lane outside its mask", edit(
        BRANCH, ("0x0000ffff", "0x000000ff"), ("x, 8);", "x, 4); // fault"),
        marked("out[threadIdx.x] = x;", "other")
    ), "branch", 1, 64, "float[64] out:float[64]", "barrier", "uninitialised"),
    small("shuffle from an inactive lane", edit(
        BRANCH, ("x, 8);", "x, 16); // fault"), marked("out[threadIdx.x] = x;", "other")
    ), "branch", 1, 64, "float[64] out:float[64]", "uninitialised"),
    small("tree of too many steps", edit(
        TREE, ("step = 4", "step = 8"), marked(TREE_STEP, "fault"),
        ("            *out = sum;", "            *out = sum; // other")
    ), "tree", 1, 256, "float[256] out:float[1]", "uninitialised"),
    small("short block, full tree", edit(
        SHORT_BLOCK, ("blockDim.x / 2", "16"), ("sum, step);", "sum, step); // fault"),
        marked("*out = sum;", "other")
    ), "tree", 1, 16, "float[256] out:float[1]", "uninitialised"),
    small("reduction after an exit", edit(
        SCAN, ("__shfl_up_sync", "__shfl_down_sync"), ("sum, step);", "sum, step); // fault"),
        ("        if (lane >= step)\n    ", ""), marked("out[i] = sum;", "other")
    ), "scan", 1, 64, "50 float[64] out:float[64]", "uninitialised"),
)  # fmt: skip
