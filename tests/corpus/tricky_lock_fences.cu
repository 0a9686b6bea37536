// Correct: a lock around plain loads and stores, one thread a block, fences on both sides
//
// family: correct but suspicious
// kernel: ledger
// grid: 4
// block: 64
// args: int[1] zeros; int[8] zeros

extern "C" __global__ void ledger(int *mutex, int *account)
{
    __shared__ int mine[64];
    mine[threadIdx.x] = threadIdx.x * (blockIdx.x + 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(mutex, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        for (int k = 0; k < 64; k++) account[k & 7] += mine[k];
        __threadfence();
        atomicExch(mutex, 0);
    }
}
