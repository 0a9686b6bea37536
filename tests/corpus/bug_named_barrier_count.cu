// Warps wait at different named barriers: neither is ever complete
//
// family: planted
// kernel: apart
// grid: 1
// block: 64
// planted: barrier
// args: out int[64]

extern "C" __global__ void apart(int *y)
{
    y[threadIdx.x] = 1;
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory"); // fault
    else
        asm volatile("bar.sync 2, 64;" ::: "memory"); // fault
    y[threadIdx.x] = 2;
}
