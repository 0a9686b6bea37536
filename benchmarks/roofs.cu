// How fast an SM multiplies: one instruction again and again, on numbers that stay where they are.
//
// MULTIPLY(d, a, b) is that instruction, a multiplication and addition in PTX, and UNROLL how often
// the body of the loop has it. `roofs.py` writes what stands before this. Each warp writes the cycle
// in which it began and that in which it had done. `data` are WORDS words of random numbers.

#define WORDS 16384

__device__ void note(long long begin, long long* cycles)
{
    long long end = clock64();
    if (threadIdx.x % 32 == 0) {
        long long* mine = &cycles[(blockIdx.x * blockDim.x + threadIdx.x) / 32 * 2];
        mine[0] = begin;
        mine[1] = end;
    }
}

#ifndef N
#ifdef MULTIPLY  // mma.sync
#define A 2
#else
#define A 1
#define MULTIPLY(d, a, b) asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(d[0]) \
    : "f"(__uint_as_float(a[0])), "f"(__uint_as_float(b[0])))
#endif
#define B 4

// A x B fragments of sums, from A of one factor and B of the other, as in a warp tile: the chains
// of a warp. Of an FMA, a fragment is a number.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(int passes, const unsigned* data, float* sums, long long* cycles)
{
    unsigned a[A][4], b[B][2];
    float d[A][B][4] = {};
    int word = threadIdx.x % 512;
    for (int i = 0; i < A * 4; ++i)
        a[i / 4][i % 4] = data[word + 512 * i];
    for (int j = 0; j < B * 2; ++j)
        b[j / 2][j % 2] = data[word + 512 * j + WORDS / 2];
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int n = 0; n < passes; ++n)
        #pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            MULTIPLY(d[i / B % A][i % B], a[i / B % A], b[i % B]);
    note(begin, cycles);
    float sum = 0;
    for (int i = 0; i < A * B * 4; ++i)
        sum += d[i / 4 / B][i / 4 % B][i % 4];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
#else
#define DEPTH 2  // steps along k

// Where a factor of `rows` rows lies, a unit of 16 bytes of each row after another.
__device__ unsigned long long descriptor(const uint4* p, int rows)
{
    unsigned long long next_unit = rows, next_eight_rows = 8;
    return ((unsigned)__cvta_generic_to_shared(p) & 0x3ffff) >> 4 | next_unit << 16
           | next_eight_rows << 32;
}

// wgmma: a warpgroup adds 64 x N products to its sums.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(int passes, const unsigned* data, float* sums, long long* cycles)
{
    __shared__ __align__(128) uint4 shared[DEPTH * 2 * (N + 64)];  // B, then A
    for (unsigned i = threadIdx.x; i < sizeof(shared) / 4; i += blockDim.x)
        ((unsigned*)shared)[i] = data[i % WORDS];
    float d[N / 2] = {};
    unsigned long long b = descriptor(shared, N);
#if A_IN_REGISTERS
    unsigned a[DEPTH][4];
    for (int i = 0; i < DEPTH * 4; ++i)
        a[i / 4][i % 4] = data[threadIdx.x + 1024 * i];
#define LEFT(k) a[k]
#else
    unsigned long long a = descriptor(shared + DEPTH * 2 * N, 64);
#define LEFT(k) a + (k) * 2 * 64
#endif
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (int i = 0; i < N / 2; ++i)
        asm volatile("" : "+f"(d[i]) :: "memory");
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int n = 0; n < passes; ++n) {  // the next group is asked for before the last is done
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            MULTIPLY(d, LEFT(i % DEPTH), b + i % DEPTH * 2 * N);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < N / 2; ++i)  // nothing reads the sums before
        asm volatile("" : "+f"(d[i]) :: "memory");
    note(begin, cycles);
    float sum = 0;
    for (int i = 0; i < N / 2; ++i)
        sum += d[i];
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
#endif
