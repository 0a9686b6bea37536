// 0/1 knapsack: a row of the table after another, two buffers
//
// family: dynamic programming
// kernel: knapsack
// grid: 1
// block: 101
// args: int[10] values 23 31 29 44 53 38 63 85 89 82; int[10] values 92 57 49 68 60 43 67 84 87 72; int 10; out int[101]

extern "C" __global__ void knapsack(const int *weight, const int *value, int n, int *best)
{
    __shared__ int row[2][101];
    int w = threadIdx.x, now = 0;
    row[0][w] = 0;
    for (int k = 0; k < n; k++) {
        __syncthreads();
        int v = row[now][w];
        if (w >= weight[k]) v = max(v, row[now][w - weight[k]] + value[k]);
        row[now ^ 1][w] = v;
        now ^= 1;
    }
    best[w] = row[now][w];
}
