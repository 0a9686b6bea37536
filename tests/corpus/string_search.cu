// Search of a pattern in a text: every start in its own thread, and a count
//
// family: strings
// kernel: search
// grid: 3
// block: 100
// args: char[300] below 3; char[4] values 1 0 2 0; int 300; int 4; out int[300]; int[1] zeros

extern "C" __global__ void search(const char *text, const char *pattern, int n, int m, int *hits, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + m > n) return;
    int j = 0;
    while (j < m - 1 && text[i + j] == pattern[j]) j++;
    if (j == m - 1) { hits[i] = 1; atomicAdd(count, 1); }
}
