// Odd-even transposition sort, an odd number of elements
//
// family: sort
// kernel: oddEven
// grid: 1
// block: 96
// args: short[189] bits; int 189

extern "C" __global__ void oddEven(short *a, int n)
{
    for (int phase = 0; phase < n; phase++) {
        int i = 2 * threadIdx.x + (phase & 1);
        if (i + 1 < n && a[i] > a[i + 1]) {
            short t = a[i]; a[i] = a[i + 1]; a[i + 1] = t;
        }
        __syncthreads();
    }
}
