// One warp alone: exchanges through shared memory with barriers of the warp
//
// family: tempting
// kernel: reverseRounds
// grid: 2
// block: 32
// args: int[64] below 100; out int[64]
extern "C" __global__ void reverseRounds(const int *in, int *out)
{
    __shared__ int s[32];
    int t = threadIdx.x, v = in[blockIdx.x * 32 + t];
    for (int k = 0; k < 4; ++k) {
        s[t] = v;
        __syncwarp();
        v += s[31 - t] - s[(t + k) & 31];
        __syncwarp();
    }
    out[blockIdx.x * 32 + t] = v;
}
