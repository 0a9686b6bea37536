// Embeddings gathered, and gradients scattered with integer atomics in fixed point
//
// family: machine learning
// kernel: embed
// grid: 4
// block: 12 5
// args: float[30,12] uniform; int[19] below 33; out float[19,12]; int[30,12] zeros; int 19; int 30
extern "C" __global__ void embed(const float *table, const int *ids, float *out, int *grad, int n, int vocab)
{
    int tok = blockIdx.x * blockDim.y + threadIdx.y, d = threadIdx.x, D = blockDim.x;
    if (tok >= n) return;
    int id = ids[tok];
    bool known = (unsigned)id < (unsigned)vocab;
    float v = known ? __ldg(&table[id * D + d]) : 0.0f;
    out[tok * D + d] = v;
    if (known) atomicAdd(&grad[id * D + d], __float2int_rn(v * 65536.0f) - (d << 4));
}
