// A lock taken by one thread of each block, around a sum of rows
//
// family: lock
// kernel: accumulate
// grid: 8
// block: 32
// args: int[256] below 100; int[32] zeros; int[1] zeros

struct Lock {
    int *mutex;
    __device__ void lock() { while (atomicCAS(mutex, 0, 1) != 0) { } __threadfence(); }
    __device__ void unlock() { __threadfence(); atomicExch(mutex, 0); }
};

extern "C" __global__ void accumulate(const int *in, volatile int *sum, int *mutex)
{
    Lock l{mutex};
    if (threadIdx.x == 0) l.lock();
    __syncthreads();
    sum[threadIdx.x] = sum[threadIdx.x] + in[blockIdx.x * 32 + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) l.unlock();
}
