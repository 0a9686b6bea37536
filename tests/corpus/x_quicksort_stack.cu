// Quicksort with a stack of its own, a segment a thread
//
// family: sort
// kernel: qsortSegments
// grid: 1
// block: 20
// args: short[19,23] bits; int 19; int 23
struct Range { int lo, hi; };

extern "C" __global__ void qsortSegments(short *data, int segments, int len)
{
    int seg = threadIdx.x + blockIdx.x * blockDim.x;
    if (seg >= segments) return;
    short *a = data + seg * len;
    Range stack[32];
    int top = 0;
    stack[top++] = {0, len - 1};
    do {
        Range r = stack[--top];
        while (r.lo < r.hi) {
            short pivot = a[(r.lo + r.hi) / 2];
            int i = r.lo - 1, j = r.hi + 1;
            for (;;) {
                do ++i; while (a[i] < pivot);
                do --j; while (a[j] > pivot);
                if (i >= j) break;
                short t = a[i]; a[i] = a[j]; a[j] = t;
            }
            if (j - r.lo < r.hi - j - 1) { stack[top++] = {j + 1, r.hi}; r.hi = j; }
            else { stack[top++] = {r.lo, j}; r.lo = j + 1; }
        }
    } while (top > 0);
}
