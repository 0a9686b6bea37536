// Which rows, columns and boxes of sudokus are right
//
// family: search
// kernel: sudoku
// grid: 5
// block: 27
// args: uchar[5,81] below 9; out int[5,27]; int[5] zeros
extern "C" __global__ void sudoku(const unsigned char (*boards)[81], int (*ok)[27], int *good)
{
    __shared__ unsigned char b[9][9];
    for (int i = threadIdx.x; i < 81; i += 27)
        (&b[0][0])[i] = blockIdx.x == 0 ? (i / 9 * 3 + i / 27 + i % 9) % 9 : boards[blockIdx.x][i];
    __syncthreads();
    unsigned seen = 0;
    int u = threadIdx.x % 9;
    switch (threadIdx.x / 9) {
    case 0: for (int k = 0; k < 9; ++k) seen |= 1u << b[u][k]; break;
    case 1: for (int k = 0; k < 9; ++k) seen |= 1u << b[k][u]; break;
    default: for (int k = 0; k < 9; ++k) seen |= 1u << b[u / 3 * 3 + k / 3][u % 3 * 3 + k % 3];
    }
    bool fine = seen == 0x1ff;
    ok[blockIdx.x][threadIdx.x] = fine ? 1 : __popc(seen) - 9;
    if (fine) atomicInc((unsigned *)&good[blockIdx.x], 100);
}
