// A ring index that goes below zero, as % keeps the sign
//
// family: planted
// kernel: ring
// grid: 1
// block: 64
// args: int[50] iota; out int[50]; int 50
// planted: out of bounds
extern "C" __global__ void ring(const int *x, int *y, int n)
{
    int i = threadIdx.x;
    if (i < n)
        y[i] = x[(i + 1) % n]
             - x[(i - 1) % n]; // fault
}
