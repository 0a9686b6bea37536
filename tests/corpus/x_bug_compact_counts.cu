// Compaction by ballots whose counts are overwritten while one thread still adds them
//
// family: planted
// kernel: compact
// grid: 1
// block: 128
// args: int[777] below 1000; out int[777]; out int[1]; int 777
// planted: race
__device__ __forceinline__ unsigned lanemask_lt() { unsigned m; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m)); return m; }
extern "C" __global__ void compact(const int *in, int *out, int *count, int n)
{
    __shared__ int warps[4], base;
    if (threadIdx.x == 0) base = 0;
    int w = threadIdx.x >> 5;
    for (int i = threadIdx.x; i < ((n + 127) & ~127); i += 128) {
        int v = i < n ? in[i] : -1;
        bool keep = v >= 0 && v % 3 == 0;
        unsigned votes = __ballot_sync(~0u, keep);
        if ((threadIdx.x & 31) == 31) warps[w] = __popc(votes); // fault
        __syncthreads();
        int at = base + __popc(votes & lanemask_lt());
        for (int k = 0; k < w; k++) at += warps[k];
        if (keep) out[at] = v;
        __syncthreads();
        if (threadIdx.x == 0) base += warps[0] + warps[1] + warps[2] + warps[3]; // fault
    }
    __syncthreads();
    if (threadIdx.x == 0) *count = base;
}
