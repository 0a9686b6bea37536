// Two warps exchange through shared memory by a flag without any fence or barrier
//
// family: planted
// kernel: relay
// grid: 1
// block: 64
// planted: race
// args: out int[32]

extern "C" __global__ void relay(int *out)
{
    __shared__ int box[32];
    __shared__ int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        box[threadIdx.x] = threadIdx.x;
        if (threadIdx.x == 0) atomicExch(&ready, 1);
    } else {
        while (atomicAdd(&ready, 0) == 0) { }
        out[threadIdx.x - 32] = box[63 - threadIdx.x]; // fault
    }
}
