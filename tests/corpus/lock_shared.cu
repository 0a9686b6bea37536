// A lock in shared memory with __threadfence_block, a list built behind it
//
// family: lock
// kernel: chain
// grid: 2
// block: 40
// args: out int[2]

extern "C" __global__ void chain(int *sum)
{
    __shared__ int mutex, next[40];
    __shared__ volatile int head;
    if (threadIdx.x == 0) { mutex = 0; head = -1; }
    __syncthreads();
    for (bool done = false; !done;) {
        if (!atomicExch(&mutex, 1)) {
            __threadfence_block();
            next[threadIdx.x] = head;
            head = threadIdx.x;
            __threadfence_block();
            atomicExch(&mutex, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int s = 0;
        for (int i = head; i >= 0; i = next[i]) s += i * i;
        sum[blockIdx.x] = s;
    }
}
