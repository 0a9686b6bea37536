// A spin lock in global memory, 64 threads, the loop that does not hang in lockstep
//
// family: lock
// kernel: locked
// grid: 1
// block: 64
// args: int[1] zeros; int[2] zeros

extern "C" __global__ void locked(int *mutex, volatile int *data)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) == 0) {
            __threadfence();
            data[0] = data[0] + 1;
            data[1] = data[1] + threadIdx.x;
            __threadfence();
            atomicExch(mutex, 0);
            done = true;
        }
    }
}
