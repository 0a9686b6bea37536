// malloc and free in a kernel
//
// family: calls
// kernel: heap
// grid: 1
// block: 20
// args: int[20] below 9; out int[20]

extern "C" __global__ void heap(const int *n, int *sum)
{
    int m = n[threadIdx.x] + 1, s = 0;
    int *p = (int*)malloc(m * sizeof(int));
    if (p) {
        for (int k = 0; k < m; k++) p[k] = k * k;
        for (int k = 0; k < m; k++) s += p[k];
        free(p);
    }
    sum[threadIdx.x] = p ? s : -1;
}
