// Recursive quicksort, an array for each thread
//
// family: calls
// kernel: sortRows
// grid: 1
// block: 20
// args: int[20,16] bits

__device__ void quicksort(int *a, int lo, int hi)
{
    if (lo >= hi) return;
    int pivot = a[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    quicksort(a, lo, j);
    quicksort(a, i, hi);
}
extern "C" __global__ void sortRows(int *rows) { quicksort(rows + 16 * threadIdx.x, 0, 15); }
