// A pointer that is null where the branch is taken
//
// family: planted
// kernel: deref
// grid: 1
// block: 32
// planted: out of bounds
// args: int[32] below 100; out int[32]; ulong 0

extern "C" __global__ void deref(const int *x, int *y, const int *table)
{
    int v = x[threadIdx.x];
    if (v > 10)
        v = table[v]; // fault
    y[threadIdx.x] = v;
}
