// Merge of two sorted arrays along the diagonals of the merge path
//
// family: sort
// kernel: mergePath
// grid: 2
// block: 32
// args: int[130] iota; int[171] iota; int 130; int 171; out int[301]
#define ITEMS 5
__device__ __forceinline__ int value_a(const int *A, int i) { return (A[i] * 37) / 10; }
__device__ __forceinline__ int value_b(const int *B, int i) { return B[i] * 3 - 7; }

extern "C" __global__ void mergePath(const int *A, const int *B, int nA, int nB, int *C)
{
    int diag = (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS;
    if (diag >= nA + nB) return;
    int lo = max(0, diag - nB), hi = min(diag, nA);
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (value_a(A, mid) <= value_b(B, diag - 1 - mid)) lo = mid + 1;
        else hi = mid;
    }
    int a = lo, b = diag - lo;
    for (int i = 0; i < ITEMS && diag + i < nA + nB; i++) {
        bool takeA = b >= nB || (a < nA && value_a(A, a) <= value_b(B, b));
        C[diag + i] = takeA ? value_a(A, a++) : value_b(B, b++);
    }
}
