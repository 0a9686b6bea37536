// Bellman-Ford in a block on an edge list, until nothing changes
//
// family: graph
// kernel: sssp
// grid: 1
// block: 128
// args: int[300] below 60; int[300] below 60; uint[300] below 50; out uint[60]; out int[1]; int 60; int 300
// counters: none
extern "C" __global__ void sssp(const int *src, const int *dst, const unsigned *w, unsigned *dist, int *rounds, int nv, int ne)
{
    __shared__ unsigned d[64];
    __shared__ int dirty;
    if (threadIdx.x < nv) d[threadIdx.x] = threadIdx.x ? 0xffffffff : 0;
    int r = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0) dirty = 0;
        __syncthreads();
        for (int e = threadIdx.x; e < ne; e += blockDim.x) {
            unsigned from = atomicAdd(&d[src[e]], 0u);
            if (from == 0xffffffff) continue;
            if (atomicMin(&d[dst[e]], from + w[e] + 1) > from + w[e] + 1) atomicExch(&dirty, 1);
        }
        __syncthreads();
        ++r;
    } while (dirty && r < nv + 5);
    if (threadIdx.x < nv) dist[threadIdx.x] = d[threadIdx.x];
    if (threadIdx.x == 0) rounds[0] = r > 0;
}
