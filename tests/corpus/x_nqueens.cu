// N queens by backtracking with bit masks, a first row's column a thread
//
// family: search
// kernel: queens
// grid: 1
// block: 32
// args: int 7; out int[32]; uint[1] zeros
extern "C" __global__ void queens(int n, int *perColumn, unsigned *total)
{
    const unsigned all = (1u << n) - 1;
    unsigned cols[16], left[16], right[16], open[16];
    int count = 0;
    if (threadIdx.x < n) {
        unsigned q = 1u << threadIdx.x;
        int row = 1;
        cols[1] = q; left[1] = q << 1; right[1] = q >> 1;
        open[1] = all & ~(cols[1] | left[1] | right[1]);
        while (row > 0) {
            if (open[row] == 0) { --row; continue; }
            q = open[row] & -open[row];
            open[row] ^= q;
            if (row == n - 1) { ++count; continue; }
            cols[row + 1] = cols[row] | q;
            left[row + 1] = (left[row] | q) << 1;
            right[row + 1] = (right[row] | q) >> 1;
            ++row;
            open[row] = all & ~(cols[row] | left[row] | right[row]);
        }
    }
    perColumn[threadIdx.x] = count;
    if (count) atomicAdd(total, count);
}
