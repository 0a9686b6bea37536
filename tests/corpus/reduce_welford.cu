// Mean and variance by Welford's update, merged across a warp
//
// family: reduction
// kernel: welford
// grid: 4
// block: 32
// args: float[4,250] uniform 0 10; int 250; out float[8]

extern "C" __global__ void welford(const float *x, int n, float *out)
{
    float mean = 0, m2 = 0; int count = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = x[blockIdx.x * n + i];
        count++;
        float delta = v - mean;
        mean += delta / count;
        m2 += delta * (v - mean);
    }
    for (int off = 16; off; off >>= 1) {
        float mb = __shfl_down_sync(0xffffffffu, mean, off);
        float sb = __shfl_down_sync(0xffffffffu, m2, off);
        int nb = __shfl_down_sync(0xffffffffu, count, off);
        float d = mb - mean; int total = count + nb;
        mean += d * nb / total;
        m2 += sb + d * d * ((float)count * nb / total);
        count = total;
    }
    if (threadIdx.x == 0) { out[2 * blockIdx.x] = mean; out[2 * blockIdx.x + 1] = m2 / count; }
}
