// A conjugate gradient solve in a block, with two dot products a step
//
// family: linear algebra
// kernel: cg
// grid: 2
// block: 32
// args: float[2,29] uniform; out float[2,29]; out float[2]; int 29; int 5
struct Dot {
    float *buf;
    __device__ float operator()(float a, float b) const {
        int t = threadIdx.x;
        buf[t] = a * b;
        __syncthreads();
        for (int s = 16; s; s >>= 1) {
            if (t < s) buf[t] += buf[t + s];
            __syncthreads();
        }
        float r = buf[0];
        __syncthreads();
        return r;
    }
};
extern "C" __global__ void cg(const float *b, float *x, float *res, int n, int steps)
{
    __shared__ float buf[32], p[34];
    Dot dot{buf};
    int t = threadIdx.x;
    bool live = t < n;
    float r = live ? b[blockIdx.x * n + t] : 0.f, xi = 0.f, pi = r;
    if (t == 0) p[0] = p[33] = 0.f;
    float rr = dot(r, r);
    for (int k = 0; k < steps && rr > 1e-12f; ++k) {
        p[t + 1] = pi;
        __syncthreads();
        float Ap = live ? 2.5f * pi - p[t] - p[t + 2] : 0.f;
        float alpha = rr / dot(pi, Ap);
        xi += alpha * pi;
        r -= alpha * Ap;
        float next = dot(r, r);
        pi = r + next / rr * pi;
        rr = next;
    }
    if (live) x[blockIdx.x * n + t] = xi;
    if (!t) res[blockIdx.x] = sqrtf(rr);
}
