// Histogram equalisation of an image in one block
//
// family: image
// kernel: equalise
// grid: 1
// block: 256
// args: uchar[1111] below 90; out uchar[1111]; int 1111
extern "C" __global__ void equalise(const unsigned char *in, unsigned char *out, int n)
{
    __shared__ unsigned hist[256];
    __shared__ unsigned cdf[256];
    __shared__ unsigned first;
    int t = threadIdx.x;
    hist[t] = 0;
    if (t == 0) first = 0xffffffffu;
    __syncthreads();
    for (int i = t; i < n; i += 256) atomicAdd(&hist[in[i]], 1u);
    __syncthreads();
    cdf[t] = hist[t];
    __syncthreads();
    for (int s = 1; s < 256; s <<= 1) {
        unsigned v = t >= s ? cdf[t - s] : 0;
        __syncthreads();
        cdf[t] += v;
        __syncthreads();
    }
    if (hist[t]) atomicMin(&first, cdf[t]);
    __syncthreads();
    for (int i = t; i < n; i += 256)
        out[i] = (unsigned char)(((cdf[in[i]] - first) * 255u + (n - first) / 2) / (n - first));
}
