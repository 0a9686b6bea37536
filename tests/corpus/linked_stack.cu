// A lock-free stack: pushes by atomicCAS, sums of what was pushed
//
// family: data structures
// kernel: pushAll
// grid: 2
// counters: none
// block: 40
// compare: none for 1 2
// args: int[80] below 1000; int[80] zeros; int[1] constant -1; int[1] zeros; out int[1]

extern "C" __global__ void pushAll(const int *value, int *next, int *head, int *done, int *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, old = *(volatile int*)head, seen;
    do {
        seen = old;
        *(volatile int*)&next[i] = seen;
        __threadfence();
        old = atomicCAS(head, seen, i);
    } while (old != seen);
    __threadfence();
    if (atomicAdd(done, 1) == 79) {
        __threadfence();
        int s = 0;
        for (int k = *(volatile int*)head; k >= 0; k = *(volatile int*)&next[k]) s += value[k];
        *sum = s;
    }
}
