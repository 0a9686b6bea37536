// Rule 110 with 32 cells in a word, several generations in shared memory
//
// family: cellular automaton
// kernel: rule
// grid: 1
// block: 40
// args: uint[40] bits; int 12; int 110

extern "C" __global__ void rule(unsigned *cells, int generations, int number)
{
    __shared__ unsigned row[42];
    int t = threadIdx.x + 1;
    row[t] = cells[t - 1];
    if (t == 1) row[0] = row[41] = 0;
    __syncthreads();
    for (int g = 0; g < generations; ++g) {
        unsigned l = __funnelshift_l(row[t - 1], row[t], 1), r = __funnelshift_r(row[t], row[t + 1], 1);
        unsigned c = row[t], next = 0;
        for (int k = 0; k < 8; ++k)
            if (number >> k & 1)
                next |= (k & 4 ? l : ~l) & (k & 2 ? c : ~c) & (k & 1 ? r : ~r);
        __syncthreads();
        row[t] = next;
        __syncthreads();
    }
    cells[t - 1] = row[t];
}
