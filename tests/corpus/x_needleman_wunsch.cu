// Needleman-Wunsch by anti-diagonals, scores of three rows kept in shared memory
//
// family: dynamic programming
// kernel: nw
// grid: 4
// block: 32
// args: char[4,27] below 4; char[4,31] below 4; out int[4]; out int[4,32]
#define LA 27
#define LB 31
#define GAP (-2)
extern "C" __global__ void nw(const signed char *A, const signed char *B, int *score, int *lastRow)
{
    __shared__ int d[3][LA + 1];
    const signed char *a = A + blockIdx.x * LA, *b = B + blockIdx.x * LB;
    int *cur = d[0], *prev = d[1], *prev2 = d[2];
    for (int k = 0; k <= LA + LB; ++k) {
        int i = threadIdx.x, j = k - i;
        if (i <= LA && j >= 0 && j <= LB) {
            int v;
            if (i == 0) v = j * GAP;
            else if (j == 0) v = i * GAP;
            else {
                int m = prev2[i - 1] + (a[i - 1] == b[j - 1] ? 3 : -1);
                int g = max(prev[i - 1], prev[i]) + GAP;
                v = m > g ? m : g;
            }
            cur[i] = v;
            if (i == LA) lastRow[blockIdx.x * (LB + 1) + j] = v;
        }
        __syncthreads();
        int *t = prev2; prev2 = prev; prev = cur; cur = t;
    }
    if (threadIdx.x == 0) score[blockIdx.x] = prev[LA];
}
