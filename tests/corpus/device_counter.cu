// A __device__ variable lives from launch to launch
//
// family: device variables
// kernel: count
// grid: 3
// block: 32
// launches: 3
// args: int[4] zeros

__device__ int launches = 100;
static __device__ unsigned total;
extern "C" __global__ void count(int *out)
{
    atomicAdd(&total, 1);
    if (blockIdx.x == 0 && threadIdx.x == 0) { out[0] = ++launches; out[1] += launches; }
    if (blockIdx.x == 1 && threadIdx.x == 0) out[2] = out[2] * 2 + 1;
}
