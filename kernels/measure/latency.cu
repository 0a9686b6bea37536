// What a GPU waits for, and what hides it: chains in which each instruction needs the one before.

#ifndef CHAINS
#define CHAINS 1  // independent chains of each thread
#endif

// region: follow
// What a load reads is the place that the next load reads.
extern "C" __global__ void __launch_bounds__(1024, 2)
follow(int warm, int steps, const int* start, const int* next,
       int* end, long long* cycles)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at[CHAINS];
    for (int c = 0; c < CHAINS; ++c)
        at[c] = start[i * CHAINS + c];
    for (int n = 0; n < warm; ++n)  // fills the caches
        for (int c = 0; c < CHAINS; ++c)
            at[c] = next[at[c]];
    long long begin = clock64();
    for (int n = 0; n < steps; ++n)
        for (int c = 0; c < CHAINS; ++c)
            at[c] = next[at[c]];
    cycles[i] = clock64() - begin;
    for (int c = 0; c < CHAINS; ++c)
        end[i * CHAINS + c] = at[c];
}
// endregion

#define WORDS 1024

// The same in shared memory, for one block of a warp and a `next` of WORDS.
extern "C" __global__ void
follow_shared(int steps, const int* start, const int* next, int* end, long long* cycles)
{
    __shared__ int s_next[WORDS];
    for (int w = threadIdx.x; w < WORDS; w += blockDim.x)
        s_next[w] = next[w];
    __syncthreads();
    int at = start[threadIdx.x];
    long long begin = clock64();
    for (int n = 0; n < steps; ++n)
        at = s_next[at];
    cycles[threadIdx.x] = clock64() - begin;
    end[threadIdx.x] = at;
}

// region: multiply
// Each multiply-add needs the result of the one before.
extern "C" __global__ void __launch_bounds__(1024, 2)
multiply(int steps, float a, float b, float* end, long long* cycles)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[CHAINS];
    for (int c = 0; c < CHAINS; ++c)
        x[c] = i + c;
    long long begin = clock64();
    #pragma unroll 32
    for (int n = 0; n < steps; ++n)
        for (int c = 0; c < CHAINS; ++c)
            x[c] = fmaf(x[c], a, b);
    cycles[i] = clock64() - begin;
    for (int c = 0; c < CHAINS; ++c)
        end[i * CHAINS + c] = x[c];
}
// endregion

#define THREADS 1024
#define READS 8  // of each thread in a part

// In each round a block reads one of `parts` parts of x.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
read(int rounds, int parts, const float4* x, float* sums)
{
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        int n = (blockIdx.x + round * gridDim.x) % parts;
        const float4* part = x + (long long)n * THREADS * READS;
        #pragma unroll
        for (int i = 0; i < READS; ++i) {
            float4 four = part[threadIdx.x + THREADS * i];
            sum += four.x + four.y + four.z + four.w;
        }
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// The same in shared memory.
extern "C" __global__ void __launch_bounds__(256)
read_shared(int rounds, const float4* x, float* sums)
{
    __shared__ float4 s_x[2048];
    for (int i = threadIdx.x; i < 2048; i += 256)
        s_x[i] = x[i];
    __syncthreads();
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        int at = (threadIdx.x + round) % 256;  // else the compiler reads once for all rounds
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
            float4 four = s_x[at + 256 * i];
            sum += four.x + four.y + four.z + four.w;
        }
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
