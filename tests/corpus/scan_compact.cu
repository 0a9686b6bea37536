// Stream compaction: keep positive elements in order, by ballot and popcount
//
// family: scan
// kernel: compact
// grid: 1
// block: 256
// args: float[256] uniform; out float[256]; out int[1]

extern "C" __global__ void compact(const float *in, float *out, int *count)
{
    __shared__ int warpCount[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float x = in[threadIdx.x];
    unsigned vote = __ballot_sync(0xffffffffu, x > 0.0f);
    int before = __popc(vote & ((1u << lane) - 1u));
    if (lane == 0) warpCount[warp] = __popc(vote);
    __syncthreads();
    int start = 0;
    for (int w = 0; w < warp; ++w) start += warpCount[w];
    if (x > 0.0f) out[start + before] = x;
    if (threadIdx.x == 255) *count = start + __popc(vote);
}
