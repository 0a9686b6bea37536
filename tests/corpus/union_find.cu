// Connected components by hooking with atomicMin until nothing changes
//
// family: graph
// kernel: components
// grid: 1
// counters: none
// block: 60
// args: int[60,2] below 80; int[80] iota; int 60

extern "C" __global__ void components(const int2 *edges, int *label, int m)
{
    __shared__ int changed;
    do {
        __syncthreads();
        if (threadIdx.x == 0) changed = 0;
        __syncthreads();
        int2 e = edges[threadIdx.x];
        int a = atomicAdd(&label[e.x], 0), b = atomicAdd(&label[e.y], 0), low = min(a, b);
        if (a != b) {
            atomicMin(&label[e.x], low);
            atomicMin(&label[e.y], low);
            atomicExch(&changed, 1);
        }
        __syncthreads();
    } while (changed);
}
