// Correct: the whole last block reads what all blocks wrote, behind fence, ticket and barrier
//
// family: correct but suspicious
// kernel: lastReads
// grid: 5
// block: 64
// args: int[320] below 1000; int[5] zeros; uint[1] zeros; out int[1]

extern "C" __global__ void lastReads(const int *x, int *part, unsigned *ticket, int *out)
{
    __shared__ int s[64];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int k = 32; k; k >>= 1) { if (t < k) s[t] = max(s[t], s[t + k]); __syncthreads(); }
    if (t == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        int v = t < gridDim.x ? ((volatile int*)part)[t] : 0;
        v = __reduce_max_sync(0xffffffffu, v);
        if (t == 0) *out = v;
    }
}
