// A flag in shared memory from one warp to another, volatile and fences
//
// family: memory order
// kernel: relay
// grid: 1
// block: 64
// args: out int[32]

extern "C" __global__ void relay(int *out)
{
    __shared__ volatile int box[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        box[threadIdx.x] = 3 * threadIdx.x;
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x == 0) atomicExch((int*)&ready, 1);
    } else {
        while (atomicAdd((int*)&ready, 0) == 0) { }
        __threadfence_block();
        out[threadIdx.x - 32] = box[63 - threadIdx.x];
    }
}
