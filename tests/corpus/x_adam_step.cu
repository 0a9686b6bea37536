// Adam with weight decay, vectors of four and a tail, moments kept over three steps
//
// family: machine learning
// kernel: adam
// grid: 2
// block: 32
// args: float[203] uniform; float[203] uniform; float[203] zeros; float[203] zeros; int 203; float 0.01; bytes 6666663f77be7f3f77cc2b32cdcccc3d
// launches: 3
struct Hyper { float beta1, beta2, eps, decay; };
__device__ __forceinline__ void one(float &p, float g, float &m, float &v, float lr, const Hyper &h)
{
    m = h.beta1 * m + (1 - h.beta1) * g;
    v = h.beta2 * v + (1 - h.beta2) * g * g;
    p -= lr * (m / (sqrtf(v) + h.eps) + h.decay * p);
}
extern "C" __global__ void adam(float *p, const float *g, float *m, float *v, int n, float lr, Hyper h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, vecs = n >> 2;
    if (i < vecs) {
        float4 P = ((float4 *)p)[i], G = ((const float4 *)g)[i], M = ((float4 *)m)[i], V = ((float4 *)v)[i];
        one(P.x, G.x, M.x, V.x, lr, h);
        one(P.y, G.y, M.y, V.y, lr, h);
        one(P.z, G.z, M.z, V.z, lr, h);
        one(P.w, G.w, M.w, V.w, lr, h);
        ((float4 *)p)[i] = P; ((float4 *)m)[i] = M; ((float4 *)v)[i] = V;
    } else if (int j = vecs * 4 + (i - vecs); j < n) {
        one(p[j], g[j], m[j], v[j], lr, h);
    }
}
