// Merge of two sorted runs by binary search of each element's rank
//
// family: sort
// kernel: mergeRuns
// grid: 2
// block: 64
// args: int[100] iota; int[9] values 3 3 5 9 9 9 12 50 70; out int[109]; int 100; int 9

// elements of v[0..n) below x (or not above it)
__device__ int rankOf(const int *v, int n, int x, bool inclusive) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (v[mid] < x || (inclusive && v[mid] == x)) lo = mid + 1; else hi = mid;
    }
    return lo;
}

extern "C" __global__ void mergeRuns(const int *a, const int *b, int *c, int na, int nb) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < na) c[i + rankOf(b, nb, a[i], false)] = a[i];
    else if (i < na + nb) {
        int j = i - na;
        c[j + rankOf(a, na, b[j], true)] = b[j];
    }
}
