// A local array indexed beyond its end
//
// family: planted
// kernel: pick
// grid: 1
// block: 32
// planted: out of bounds
// args: int[32] values 0 3 7 100000000; out int[32]

extern "C" __global__ void pick(const int *x, int *y)
{
    int a[8];
    for (int k = 0; k < 8; k++) a[k] = k * k + x[k & 3];
    y[threadIdx.x] = a[x[threadIdx.x]]; // fault
}
