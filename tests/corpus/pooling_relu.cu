// Max pooling 2 x 2 and a leaky ReLU, channels along blockIdx.z
//
// family: machine learning
// kernel: pool
// grid: 1 2 3
// block: 16 4
// args: float[3,13,26] uniform; out float[3,7,13]

extern "C" __global__ void pool(const float *in, float *out)
{
    int x = threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, c = blockIdx.z;
    if (x >= 13 || y >= 7) return;
    float m = -3.4e38f;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++)
            if (2 * y + dy < 13) m = fmaxf(m, in[(c * 13 + 2 * y + dy) * 26 + 2 * x + dx]);
    out[(c * 7 + y) * 13 + x] = m > 0 ? m : 0.01f * m;
}
