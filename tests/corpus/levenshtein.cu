// Edit distance by anti-diagonals in shared memory
//
// family: dynamic programming
// kernel: levenshtein
// grid: 4
// block: 33
// args: uchar[4,32] below 4; uchar[4,32] below 4; out int[4]

extern "C" __global__ void levenshtein(const unsigned char *a, const unsigned char *b, int *d)
{
    __shared__ int diag[3][33];
    int i = threadIdx.x;
    a += blockIdx.x * 32; b += blockIdx.x * 32;
    for (int k = 0; k <= 64; k++) {
        int j = k - i;
        if (j >= 0 && j <= 32) {
            int v;
            if (i == 0) v = j;
            else if (j == 0) v = i;
            else {
                int sub = diag[(k + 1) % 3][i - 1] + (a[i - 1] != b[j - 1]);
                v = min(sub, min(diag[(k + 2) % 3][i - 1], diag[(k + 2) % 3][i]) + 1);
            }
            diag[k % 3][i] = v;
        }
        __syncthreads();
    }
    if (i == 32) d[blockIdx.x] = diag[64 % 3][32];
}
