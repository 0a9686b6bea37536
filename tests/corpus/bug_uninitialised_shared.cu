// A sum in shared memory that nobody set to zero
//
// family: planted
// kernel: total
// grid: 2
// block: 64
// planted: uninitialised
// args: int[128] below 10; out int[2]

extern "C" __global__ void total(const int *x, int *y)
{
    __shared__ int sum;
    atomicAdd(&sum, x[blockIdx.x * 64 + threadIdx.x]); // fault
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
