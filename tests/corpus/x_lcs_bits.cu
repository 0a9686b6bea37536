// Longest common subsequence with 64-bit rows, and by a table in local memory
//
// family: dynamic programming
// kernel: lcs
// grid: 1
// block: 32
// args: uchar[25,40] below 6; uchar[25,35] below 6; out int[25]; out int[25]; int 25
extern "C" __global__ void lcs(const unsigned char *A, const unsigned char *B, int *bits, int *table, int n)
{
    int t = threadIdx.x;
    if (t >= n) return;
    const unsigned char *a = A + t * 40, *b = B + t * 35;
    unsigned long long mask[6] = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 40; i++) mask[a[i]] |= 1ull << i;
    unsigned long long v = ~0ull;
    for (int j = 0; j < 35; j++) {
        unsigned long long u = v & mask[b[j]];
        v = (v + u) | (v - u);
    }
    bits[t] = 64 - __popcll(v);
    unsigned char row[41];
    for (int i = 0; i <= 40; i++) row[i] = 0;
    for (int j = 0; j < 35; j++) {
        unsigned char diag = 0;
        for (int i = 1; i <= 40; i++) {
            unsigned char old = row[i];
            row[i] = a[i - 1] == b[j] ? diag + 1 : (row[i] > row[i - 1] ? row[i] : row[i - 1]);
            diag = old;
        }
    }
    table[t] = row[40];
}
