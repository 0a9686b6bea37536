// One path writes what the others guard with a lock
//
// family: planted
// kernel: guarded
// grid: 3
// block: 32
// planted: race
// args: int[1] zeros; int[1] zeros

extern "C" __global__ void guarded(int *mutex, int *sum)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        *sum += 5; // fault
        return;
    }
    while (atomicCAS(mutex, 0, 1)) { }
    __threadfence();
    *sum += 1; // fault
    __threadfence();
    atomicExch(mutex, 0);
}
