// Attention of one head: scores, softmax, weighted sum, a block for each query
//
// family: attention
// kernel: attention
// grid: 6
// block: 32
// approximate: 1e-6 absolute
// args: float[6,32] uniform; float[20,32] uniform; float[20,32] uniform; out float[6,32]; int 20

extern "C" __global__ void attention(const float* Q, const float* K, const float* V, float* O, int n)
{
    __shared__ float q[32], score[32];
    int t = threadIdx.x;
    q[t] = Q[blockIdx.x * 32 + t];
    __syncwarp();
    float s = -1e30f;
    if (t < n) {
        s = 0;
        for (int d = 0; d < 32; d++) s += q[d] * K[t * 32 + d];
        s *= rsqrtf(32.0f);
    }
    float mx = s;
    for (int o = 16; o; o /= 2) mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, o));
    float e = __expf(s - mx), total = e;
    for (int o = 16; o; o /= 2) total += __shfl_xor_sync(~0u, total, o);
    score[t] = __fdividef(e, total);
    __syncwarp();
    float acc = 0;
    for (int k = 0; k < n; k++) acc += score[k] * V[k * 32 + t];
    O[blockIdx.x * 32 + t] = acc;
}
