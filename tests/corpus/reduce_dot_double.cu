// Dot product in double, two elements per thread, the last warp unrolled with __syncwarp
//
// family: reduction
// kernel: dot<128>
// grid: 3
// block: 128
// args: double[768] uniform; double[768] uniform; out double[3]

template <unsigned B>
__global__ void dot(const double *a, const double *b, double *c)
{
    __shared__ double cache[B];
    unsigned t = threadIdx.x, i = blockIdx.x * (2 * B) + t;
    cache[t] = a[i] * b[i] + a[i + B] * b[i + B];
    __syncthreads();
    if (t < 64) cache[t] += cache[t + 64];
    __syncthreads();
    if (t < 32) {
        volatile double *v = cache;
        double s = v[t] + v[t + 32]; v[t] = s; __syncwarp();
        if (t < 16) { s += v[t + 16]; v[t] = s; } __syncwarp();
        if (t < 8) { s += v[t + 8]; v[t] = s; } __syncwarp();
        if (t < 4) { s += v[t + 4]; v[t] = s; } __syncwarp();
        if (t < 2) { s += v[t + 2]; v[t] = s; } __syncwarp();
        if (t < 1) c[blockIdx.x] = s + v[t + 1];
    }
}
