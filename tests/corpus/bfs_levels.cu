// Breadth-first search in one block, level by level, with a flag
//
// family: graph
// kernel: bfs
// grid: 1
// block: 64
// args: int[65] iota; int[195] below 64; out int[64]; int 0

extern "C" __global__ void bfs(const int *offset, const int *edge, int *level, int source)
{
    __shared__ int depth[64];
    __shared__ int again;
    int v = threadIdx.x;
    depth[v] = v == source ? 0 : -1;
    for (int d = 0; ; d++) {
        __syncthreads();
        if (v == 0) again = 0;
        __syncthreads();
        bool mine = depth[v] == d;
        __syncthreads();
        if (mine)
            for (int e = 3 * offset[v]; e < 3 * offset[v + 1]; e++)
                if (atomicCAS(&depth[edge[e]], -1, d + 1) == -1) again = 1;
        __syncthreads();
        if (!again) break;
    }
    level[v] = depth[v];
}
