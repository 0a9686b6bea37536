// A ticket lock among 64 threads of two blocks: served in order
//
// family: lock
// kernel: ticketed
// grid: 2
// counters: none
// block: 32
// args: uint[2] zeros; int[1] zeros

extern "C" __global__ void ticketed(unsigned *lock, volatile int *count)
{
    volatile unsigned *serving = lock + 1;
    unsigned mine = atomicAdd(&lock[0], 1);
    bool waiting = true;
    while (waiting) {
        if (*serving == mine) {
            __threadfence();
            *count = *count + (int)(threadIdx.x & 3);
            __threadfence();
            *serving = mine + 1;
            waiting = false;
        }
    }
}
