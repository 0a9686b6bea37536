// All shortest paths of a graph of 24 nodes in one block
//
// family: graph
// kernel: floyd
// grid: 1
// block: 24 24
// args: int[24,24] values 7 3 99 12 99 4 1 99 99 15 2 99 99; out int[24,24]

extern "C" __global__ void floyd(const int* w, int* d)
{
    __shared__ int s[24][24];
    int i = threadIdx.y, j = threadIdx.x;
    s[i][j] = i == j ? 0 : w[i * 24 + j];
    for (int k = 0; k < 24; ++k) {
        __syncthreads();
        int through = s[i][k] + s[k][j];
        __syncthreads();
        if (through < s[i][j]) s[i][j] = through;
    }
    d[i * 24 + j] = s[i][j];
}
