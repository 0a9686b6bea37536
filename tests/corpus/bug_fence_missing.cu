// A flag is set by an atomic, but no fence orders the data before it
//
// family: planted
// kernel: handOver
// grid: 2
// block: 32
// planted: race
// args: int[32] zeros; int[1] zeros; out int[32]

extern "C" __global__ void handOver(int *data, int *flag, int *out)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x + 1;
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(flag, 1);
    } else {
        if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) { }
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x]; // fault
    }
}
