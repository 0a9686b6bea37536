// Softmax in one pass over the row, maximum and sum merged by shuffles
//
// family: machine learning
// kernel: online_softmax
// grid: 5
// block: 96
// args: float[5,333] uniform -9 9; out float[5,333]; int 333
// approximate: 1e-5 relative
struct __align__(8) MD { float m, d; };
__device__ __forceinline__ MD reduce_md(MD a, MD b)
{
    bool a_bigger = a.m > b.m;
    MD bigger = a_bigger ? a : b, smaller = a_bigger ? b : a;
    MD res;
    res.d = bigger.d + smaller.d * __expf(smaller.m - bigger.m);
    res.m = bigger.m;
    return res;
}
extern "C" __global__ void online_softmax(const float *__restrict x, float *__restrict y, int V)
{
    __shared__ MD part[3];
    x += blockIdx.x * V; y += blockIdx.x * V;
    MD p{-3.402823466e+38f, 0.0f};
    for (int i = threadIdx.x; i < V; i += blockDim.x) p = reduce_md(p, MD{x[i], 1.0f});
    for (int o = 16; o; o >>= 1) {
        MD q{__shfl_xor_sync(~0u, p.m, o), __shfl_xor_sync(~0u, p.d, o)};
        p = reduce_md(p, q);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = p;
    __syncthreads();
    p = reduce_md(reduce_md(part[0], part[1]), part[2]);
    float inv = __fdividef(1.0F, p.d);
    for (int i = threadIdx.x; i < V; i += blockDim.x) y[i] = __expf(x[i] - p.m) * inv;
}
