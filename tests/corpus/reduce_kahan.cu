// Compensated (Kahan) sum of rows, a thread each
//
// family: reduction
// kernel: kahan
// grid: 1
// block: 37
// args: float[37,200] uniform -1000 1000; int 200; out float[37]

extern "C" __global__ void kahan(const float* x, int n, float* y)
{
    float sum = 0.0f, c = 0.0f;
    for (int j = 0; j < n; ++j) {
        float t = x[threadIdx.x * n + j] - c;
        float s = sum + t;
        c = (s - sum) - t;
        sum = s;
    }
    y[threadIdx.x] = sum;
}
