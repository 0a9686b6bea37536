// Correct: lanes that returned are not in the mask of the shuffles after
//
// family: correct but suspicious
// kernel: tail
// grid: 1
// block: 64
// args: int[50] below 100; int 50; out int[50]

extern "C" __global__ void tail(const int *x, int n, int *y)
{
    int i = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    int v = x[i];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(mask, v, d);
        if ((i & 31) >= d) v += u;
    }
    y[i] = v;
}
