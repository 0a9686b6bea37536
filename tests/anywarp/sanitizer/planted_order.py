"""More kernels for the sanitizer: locks, flags, fences, lanes of a warp and padding; correct
ones, and the same with one fault planted, in a table as that of `planted`."""

from __future__ import annotations

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

# what block 0 leaves by an atomic, block 1 reads, which has passed a fence before already
EXCHANGED = """\
extern "C" __global__ void publish(int* flag, int* data, int* out)
{
    if (threadIdx.x == 0 && blockIdx.x == 1)
        __threadfence();
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        atomicExch(data, 7);
        __threadfence();
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
        out[0] = data[0];
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

# setting a bit-field reads the others of its word, which nobody has set before
FIELDS = """\
struct Fields { unsigned key : 5, size : 11, rest : 16, last : 1, wide : 20; };
extern "C" __global__ void fields(const int* in, int* out)
{
    __shared__ Fields box[64];
    int t = threadIdx.x;
    box[t].key = in[t];
    box[t].size = 2 * t;
    box[t].last = t;
    box[t].wide = in[t];
    __syncthreads();
    out[t] = box[t ^ 1].key + box[t ^ 1].size + box[t ^ 1].last + box[t ^ 1].wide;
}
"""

# what a function may not have set is read under a condition, which the compiler makes a choice
# between values, all of which it loads
FOUND = """\
__device__ __noinline__ bool find(const int* in, int t, int* found)
{
    if (in[t] > 4) {
        *found = 2 * in[t];
        return true;
    }
    return false;
}
extern "C" __global__ void k(const int* in, int* out)
{
    int t = threadIdx.x, value, other, some[4], n = 0;
    bool has = find(in, t, &value);
    out[t] = has ? value : -1;
    int weight = has ? 3 * value + 1 : 7;
    bool heavy = find(in, t ^ 1, &other) && weight > 7;
    bool both = heavy && other > 12;
    out[64 + t] = both || !has;
    for (int i = 0; i < 4; ++i)
        if (in[(t + i) % 64] > 4)
            some[n++] = in[(t + i) % 64];
    out[128 + t] = weight;
    for (int i = 0; i < 4; ++i)
        out[128 + t] += i < n ? some[i] : 0;
}
"""

# the product of tiles of 16 x 16 and 16 x 8, of which 13 rows and 3 columns are there
TAIL = """\
extern "C" __global__ void tail(int rows, int columns, const unsigned* A, const unsigned* B,
                                float* C)
{
    __shared__ __align__(16) unsigned a[16][8], b[8][8];
    __shared__ float c[16][8];
    int t = threadIdx.x;
    for (int i = t; i < rows * 8; i += 32)
        a[i / 8][i % 8] = A[i];
    for (int i = t; i < columns * 8; i += 32)
        b[i / 8][i % 8] = B[i];
    __syncwarp();
    unsigned of_a[4], of_b[2], at_a, at_b;
    at_a = (unsigned)__cvta_generic_to_shared(&a[t % 16][t / 16 * 4]);
    at_b = (unsigned)__cvta_generic_to_shared(&b[t % 8][t / 8 % 2 * 4]);
    float d[4] = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3]) : "r"(at_a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(of_b[0]), "=r"(of_b[1]) : "r"(at_b));
    for (int k = 0; k < 2; ++k) // and then of zeros
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(k ? 0 : of_a[0]), "r"(k ? 0 : of_a[1]), "r"(k ? 0 : of_a[2]),
                       "r"(k ? 0 : of_a[3]), "r"(k ? 0 : of_b[0]), "r"(k ? 0 : of_b[1]));
    for (int i = 0; i < 4; ++i)
        c[t / 4 + i / 2 * 8][t % 4 * 2 + i % 2] = d[i];
    __syncwarp();
    for (int i = t; i < 128; i += 32)
        if (i / 8 < rows && i % 8 < columns)
            C[i] = c[i / 8][i % 8];
}
"""

# a struct that is set in part is passed by value, and returned
PASSED = """\
struct Some { int which, value[3]; };
__device__ __noinline__ int pick(Some some)
{
    return some.value[some.which];
}
__device__ __noinline__ Some turned(Some some)
{
    some.which = (some.which + 1) % 3;
    some.value[some.which] = 7;
    return some;
}
extern "C" __global__ void k(const int* in, int* out)
{
    int t = threadIdx.x;
    Some some;
    some.which = in[t] % 3;
    some.value[some.which] = t;
    some = turned(some);
    out[t] = pick(some);
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
# the last lanes read lanes that are not there, and then their own into the same register
AGAIN = """\
extern "C" __global__ void again(const float* in, float* out)
{
    float x = 0;
    #pragma unroll 1
    for (int step = 8; step >= 0; step -= 8)
        x = __shfl_down_sync(0xffffffff, in[threadIdx.x], step);
    out[threadIdx.x] = x;
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


TABLE = r"""
== HEAP borrow 1 32 0 out:int[4]
memory from malloc, again and again:
memory from malloc, not written yet: uninitialised
    mine[1] = --> mine[0] =
    out[turn] = mine[1]; // fault
== LOCK guarded 1 96 0 zero:int[1] zero:int[1]
lock of a block:
lock of a block, its own fences:
    __threadfence --> __threadfence_block
    #2 __threadfence(); --> __threadfence_block();
lock, no fence: race
    - __threadfence();
    *sum += threadIdx.x + blockIdx.x; // fault other
    - #2 __threadfence();
== LOCK guarded 2 64 0 zero:int[1] zero:int[1]
lock of a grid:
== LOCK guarded 3 32 0 zero:int[1] zero:int[1]
lock that acquires and releases:
    - while (atomicCAS(lock, 0, 1) != 0)
    = ;
      for (int old = 1; old;)
      asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
      : "=r"(old) : "l"(lock) : "memory");
    - __threadfence();
    - #2 __threadfence();
    = atomicExch(lock, 0);
      asm volatile("st.release.gpu.global.u32 [%0], 0;" :: "l"(lock) : "memory");
lock, fence only after: race
    - __threadfence();
    *sum += threadIdx.x + blockIdx.x; // fault other
lock of a grid, fences of a block: race
    __threadfence --> __threadfence_block
    *sum += threadIdx.x + blockIdx.x; // fault other
    #2 __threadfence(); --> __threadfence_block();
lock released too early: race
    - *sum += threadIdx.x + blockIdx.x;
    + atomicExch(lock, 0);
      *sum += threadIdx.x + blockIdx.x; // fault other
== MESSAGE message 2 32 0 zero:int[1] out:int[2] out:int[1]
message:
flag before the data: race
    - data[1] = 8;
    + *seen = 1;
      data[1] = 8; // fault other
    out[0] = data[0] + data[1]; // fault
producer without a fence: race
    data[0] = 7; // other
    data[1] = 8; // other
    - __threadfence();
    out[0] = data[0] + data[1]; // fault
consumer without a fence: race
    data[0] = 7; // other
    data[1] = 8; // other
    - #2 __threadfence();
    out[0] = data[0] + data[1]; // fault
fence of another thread: race
    data[0] = 7; // other
    data[1] = 8; // other
    - __threadfence();
    + }
      if (threadIdx.x == 1)
      __threadfence();
    out[0] = data[0] + data[1]; // fault
plain flag: race
    data[0] = 7; // other
    data[1] = 8; // other
    *seen = --> *flag = // other
    - while (*seen == 0)
    = #6 ;
      if (*seen == 0) // fault
      return;
    out[0] = data[0] + data[1]; // fault
== RELEASE message 2 32 0 zero:int[1] out:int[2] out:int[1]
message, acquire and release:
relaxed, not release: race
    data[0] = 7; // other
    st.release.gpu.u32 --> st.relaxed.gpu.u32
    out[0] = data[0]; // fault
relaxed, not acquire: race
    data[0] = 7; // other
    ld.acquire.gpu.u32 --> ld.relaxed.gpu.u32
    out[0] = data[0]; // fault
release to the block only: race
    data[0] = 7; // other
    st.release.gpu.u32 --> st.release.cta.u32
    out[0] = data[0]; // fault
acquire from the block only: race
    data[0] = 7; // other
    ld.acquire.gpu.u32 --> ld.acquire.cta.u32
    out[0] = data[0]; // fault
== SHARED_RELEASE message 2 64 0 out:int[32]
message in shared memory:
release without the warp: race
    data[threadIdx.x] = threadIdx.x; // other
    - __syncwarp();
    out[threadIdx.x - 32] = data[63 - threadIdx.x]; // fault
== EXCHANGED publish 2 32 0 zero:int[1] zero:int[1] out:int[1]
an atomic, a fence and a flag:
an atomic and a flag, no fence of its thread: race
    atomicExch(data, 7); // other
    - #2 __threadfence();
    out[0] = data[0]; // fault
== CHAIN chain 3 32 0 zero:int[3] out:int[1] out:int[1]
chain:
== CHAIN chain 3 32 0 zero:int[4] out:int[1] out:int[1]
chain with a missing link: race
    + volatile int* seen = flag;
      if (threadIdx.x == 1 && blockIdx.x == 1)
      seen[3] = 1;
    data[0] = 7; // other
    blockIdx.x - 1 --> blockIdx.x == 2 ? 3 : 0
    out[0] = data[0]; // fault
== LAST_OF_ALL total 4 64 0 out:float[256] zero:unsigned[1] out:float[1]
last block of all:
last block of all, which resets the ticket:
    + *out = sum;
      *done = 0;
last block of all, no fence: race
    partial[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; // other
    - __threadfence();
    sum += partial[i]; // fault
last block of all, fence of one thread before the barrier: race
    partial[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; // other
    + partial[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
      if (threadIdx.x == 0)
    sum += partial[i]; // fault
last block of all, the ticket reset by every block: race
    last = atomicAdd(done, 1u) == gridDim.x - 1; // other
    + #2 __syncthreads();
      if (threadIdx.x == 1)
      *done = 0; // fault
== ADD_DOUBLE total 3 64 0 double[192] zero:double[1]
double atomicAdd:
== ADD_DOUBLE total 3 64 0 double[192] zero:double[193]
a guess that is kept: race
    old = atomicCAS(place, assumed, // fault
    + #3 {
      sum[1 + blockIdx.x * blockDim.x + threadIdx.x] = sum[0]; // other
== STRUCTS swap 1 64 0 out:int[192]
structs:
padding that is used: uninitialised
    out[t] = box[t ^ 1] --> ((int*)out)[t] = ((int*)box)[3 * (t ^ 1)] + 1 // fault
a field that nobody set: uninitialised
    - box[t].value = 2 * t;
    out[t] = box[t ^ 1]; // fault
== STRUCTS_TWICE swap 1 64 0 out:double[128] out:int[64]
structs, twice:
== FIELDS fields 1 64 0 int[64] out:int[64]
bit-fields:
a bit-field that nobody set: uninitialised
    - box[t].last = t;
    - box[t].wide = in[t];
    out[t] = box[t ^ 1].key // fault
a word that nobody set, and bits of another: uninitialised
    - box[t].last = t;
    - box[t].wide = in[t];
    = out[t] = box[t ^ 1].key + box
      out[t] = ((int*)box)[2 * t + 1] | in[t]; // fault
      atomicAdd(out + t, ((int*)box)[2 * t ^ 3] & 6 | ((int*)box)[2 * t ^ 5] & 9); // fault
== FOUND k 1 64 0 int[64] out:int[192]
a value that may not be set:
a value that a mask leaves out:
    has ? value : -1 --> value & -(int)has
a value that a mask lets through: uninitialised
    has ? value : -1 --> value & -(int)!has // fault
the value is not asked for: uninitialised
    has ? value : -1 --> value // fault
asked the wrong way: uninitialised
    has ? value : -1 --> has ? -1 : value // fault
computed with first: uninitialised
    out[t] = has ? value : -1; // fault
    has ? 3 * value + 1 : 7 --> has ? 7 : 3 * value + 1
a condition that nothing guards: uninitialised
    find(in, t ^ 1, &other) && weight > 7 --> !find(in, t ^ 1, &other) && weight > 7
    bool both = heavy && other > 12; // fault
a way taken for nothing: uninitialised
    bool both = heavy && other > 12;
      int third;
      find(in, t ^ 2, &third);
      if (third > 12) atomicAdd(out + 128 + t, 3); // fault
an index that nobody set: out of bounds, uninitialised
    out[t] = has ? value : -1; // fault
    = out[64 + t] = both || !has;
      out[64 + t] = in[value]; // fault
one too many: uninitialised
    i < n ? some[i] : 0 --> i <= n ? some[i] : 0 // fault
== PASSED k 1 64 0 int[64] out:int[64]
set in part, passed and returned:
set in part, and the rest is asked for: uninitialised
    some = turned(some); // fault
    some.value[some.which]; --> some.value[(some.which + 1) % 3];
set in part, and the rest is printed: uninitialised
    some = turned(some); // fault
    out[t] = pick(some); --> printf("%d ", some.value[(in[t] + 2) % 3]);
== TAIL tail 1 32 0 13 3 unsigned[128] unsigned[64] out:float[128]
tiles filled in part:
a row too many: uninitialised
    : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3]) : "r"(at_a)); // fault
    i / 8 < rows --> i / 8 <= rows
a column too many: uninitialised
    : "=r"(of_b[0]), "=r"(of_b[1]) : "r"(at_b)); // fault
    i % 8 < columns --> i % 8 <= columns
== TAIL tail 1 32 0 13 4 unsigned[128] unsigned[64] out:float[128]
tiles filled in part, turned twice:
    x2.shared --> x2.trans.shared
    + : "=r"(of_b[0]), "=r"(of_b[1]) : "r"(at_b));
      for (int i = 0; i < 2; ++i)
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(of_b[i]));
a column that is turned too many: uninitialised
    x2.shared --> x2.trans.shared
    : "=r"(of_b[0]), "=r"(of_b[1]) : "r"(at_b)); // fault
    + : "=r"(of_b[0]), "=r"(of_b[1]) : "r"(at_b));
      for (int i = 0; i < 2; ++i)
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(of_b[i]));
    i % 8 < columns --> i % 8 <= columns
== LEAVES_EARLY early 1 64 0 50 float[66] out:float[64]
leaves early:
== LEAVES_EARLY early 1 64 0 64 float[70] out:float[64]
loops of unequal length: barrier
    step < 3 --> step < n / 20 + i / 40
    __syncthreads(); // fault
    #2 __syncthreads(); // fault
== SCAN scan 1 64 0 50 float[64] out:float[64]
scan of a part:
reduction after an exit: uninitialised
    - float other = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) --> float other = __shfl_down_sync(0xffffffff, sum, step); // fault
    out[i] = sum; // other
== TREE tree 1 256 0 float[256] out:float[1]
tree:
tree of too many steps: uninitialised
    step = 4 --> step = 8
    sum += __shfl_down_sync(0xff, sum, step); // fault
    *out = sum; // other
== SHORT_BLOCK tree 1 16 0 float[256] out:float[1]
short block:
short block, full tree: uninitialised
    blockDim.x / 2 --> 16
    sum += __shfl_down_sync(0xffffffff, sum, step); // fault
    *out = sum; // other
== AGAIN again 1 24 0 float[24] out:float[24]
read again:
what was read first is kept: uninitialised
    step = 8; step >= 0; step -= 8 --> step = 0; step < 16; step += 8
    x = __shfl // fault
    out[threadIdx.x] = x; // other
== BRANCH branch 1 64 0 float[64] out:float[64]
branch:
full mask in a branch: barrier
    0x0000ffff --> 0xffffffff // fault
vote of all in a branch: barrier
    __shfl_xor_sync(0x0000ffff, x, 8 --> __any_sync(0xffffffff, x > 0.5f // fault
vote of some who return: barrier
    - if (threadIdx.x % 32 < 16)
    = x += __shfl_xor_sync(0x0000ffff, x, 8);
      if (threadIdx.x % 32 < 16 && x > 0.0f)
      out[threadIdx.x] = __ballot_sync(0xffffffff, x > 0.5f); // fault
      else
a lane outside its mask: barrier, uninitialised
    0x0000ffff, x, 8 --> 0x000000ff, x, 4 // fault
    out[threadIdx.x] = x; // other
shuffle from an inactive lane: uninitialised
    x, 8) --> x, 16) // fault
    out[threadIdx.x] = x; // other
== BRANCH branch 1 64 0 float[64] out:float[128]
__syncwarp of all in a branch: barrier
    = x += __shfl_xor_sync(0x0000ffff, x, 8);
      { x += 1.0f; __syncwarp(); out[64 + threadIdx.x] = x; } // fault
== EMPTY f 1 64 0 zero:int[1] out:int[1]
store after a strong read: race
    int n, const float* in, float --> int* place, int
    + {
      if (threadIdx.x == 0)
      out[0] = *(volatile int*)place; // other
      if (threadIdx.x == 40)
      *place = 3; // fault
"""
