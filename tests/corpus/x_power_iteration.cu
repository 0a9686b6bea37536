// Power iteration with a norm by shuffles and an early end
//
// family: linear algebra
// kernel: power
// grid: 2
// block: 64
// args: float[50,50] uniform 0 1; out float[2,50]; out int[2]; int 50; int 6
extern "C" __global__ void __launch_bounds__(64, 2)
power(const float *__restrict__ A, float *__restrict__ v, int *__restrict__ steps, int n, int limit)
{
    __shared__ float x[64];
    __shared__ float part[2];
    const int t = threadIdx.x;
    x[t] = t < n ? 1.0f / (1 + t + blockIdx.x) : 0;
    __syncthreads();
    int k = 0;
    float old = 0;
    for (; k < limit; ++k) {
        float y = 0;
        if (t < n)
            for (int j = 0; j < n; ++j) y = fmaf(A[t * n + j] + A[j * n + t], x[j], y);
        float s = y * y;
        for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
        if ((t & 31) == 0) part[t >> 5] = s;
        __syncthreads();
        float norm = sqrtf(part[0] + part[1]);
        x[t] = y / norm;
        __syncthreads();
        if (fabsf(norm - old) < 1e-3f * norm) break;
        old = norm;
    }
    if (t < n) v[blockIdx.x * n + t] = x[t];
    if (t == 0) steps[blockIdx.x] = k;
}
