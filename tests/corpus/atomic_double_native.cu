// atomicAdd of doubles, halves of a value each, in shared and global memory
//
// family: atomics
// kernel: energy
// grid: 3
// block: 64
// args: double[192] values 1 -2.5 0.25 16; double[1] zeros

extern "C" __global__ void energy(const double *x, double *sum)
{
    __shared__ double mine;
    if (threadIdx.x == 0) mine = 0.0;
    __syncthreads();
    atomicAdd(&mine, 0.5 * x[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, mine);
}
