// Dynamic work from a queue: an atomic ticket for each task, a warp at a time
//
// family: data structures
// kernel: worker
// grid: 3
// block: 32
// args: int[40] below 60; int[1] zeros; out int[40]

extern "C" __global__ void worker(const int *task, int *next, int *result)
{
    __shared__ int mine;
    while (true) {
        if (threadIdx.x == 0) mine = atomicAdd(next, 1);
        __syncthreads();
        int k = mine;
        __syncthreads();
        if (k >= 40) break;
        int s = 0;
        for (int i = threadIdx.x; i < task[k]; i += 32) s += i * i;
        s = __reduce_add_sync(0xffffffffu, s);
        if (threadIdx.x == 0) result[k] = s;
    }
}
