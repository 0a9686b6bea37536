// griddepcontrol in launches without a dependency
//
// family: roles of warps
// kernel: step
// grid: 2
// block: 64
// launches: 3
// args: int[128] iota; int[128] zeros


extern "C" __global__ void step(const int *x, int *y)
{
    int t = blockIdx.x * 64 + threadIdx.x, v = x[t] * 2;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    y[t] += v;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
