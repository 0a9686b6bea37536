// Mean and variance by Welford, merged over a block with its second moments
//
// family: reduction
// kernel: stats
// grid: 4
// block: 64
// dynamic shared: 1280
// args: float[4,211] uniform 99 101; out float[4,2]; out double[4]; int 211
struct Acc {
    float mean, m2;
    int n;
    __device__ void push(float x) { ++n; float d = x - mean; mean += d / n; m2 += d * (x - mean); }
    __device__ Acc &operator+=(const Acc &o) {
        if (o.n) {
            int t = n + o.n;
            float d = o.mean - mean;
            mean += d * o.n / t;
            m2 += o.m2 + d * d * n * o.n / t;
            n = t;
        }
        return *this;
    }
};
extern "C" __global__ void stats(const float *x, float *out, double *total, int n)
{
    extern __shared__ __align__(16) unsigned char raw[];
    double *sums = (double *)raw;
    Acc *acc = (Acc *)(raw + blockDim.x * sizeof(double));
    int t = threadIdx.x;
    Acc a = {0, 0, 0};
    double s = 0;
    for (int i = t; i < n; i += blockDim.x) { a.push(x[blockIdx.x * n + i]); s += x[blockIdx.x * n + i]; }
    acc[t] = a;
    sums[t] = s;
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        __syncthreads();
        if (t < k) { acc[t] += acc[t + k]; sums[t] += sums[t + k]; }
    }
    if (t == 0) { out[2 * blockIdx.x] = acc[0].mean; out[2 * blockIdx.x + 1] = acc[0].m2 / (acc[0].n - 1); total[blockIdx.x] = sums[0]; }
}
