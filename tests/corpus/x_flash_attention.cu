// A piece of flash attention: one query a thread, tiles of keys and values, running maximum
//
// family: machine learning
// kernel: flash<16, 8>
// grid: 2 2
// block: 16
// dynamic shared: 1024
// args: float[2,27,16] uniform; float[2,27,16] uniform; float[2,27,16] uniform; out float[2,27,16]; int 27
// approximate: 1e-5 absolute
template <int D, int BC>
__global__ void flash(const float *Q, const float *K, const float *V, float *O, int N)
{
    extern __shared__ float sm[];
    float *Kj = sm, *Vj = sm + BC * D;
    const int off = blockIdx.y * N * D, row = blockIdx.x * blockDim.x + threadIdx.x;
    const float scale = rsqrtf((float)D);
    float q[D], o[D] = {}, m = -INFINITY, l = 0.f;
    if (row < N)
        for (int d = 0; d < D; ++d) q[d] = Q[off + row * D + d];
    for (int j = 0; j < N; j += BC) {
        for (int k = threadIdx.x; k < BC * D; k += blockDim.x) {
            bool in = j + k / D < N;
            Kj[k] = in ? K[off + j * D + k] : 0.f;
            Vj[k] = in ? V[off + j * D + k] : 0.f;
        }
        __syncthreads();
        if (row < N) {
            float s[BC], mj = m;
            for (int c = 0; c < BC; ++c) {
                s[c] = 0.f;
                for (int d = 0; d < D; ++d) s[c] += q[d] * Kj[c * D + d];
                s[c] = j + c <= row && j + c < N ? s[c] * scale : -INFINITY;
                mj = fmaxf(mj, s[c]);
            }
            float fix = expf(m - mj);
            l *= fix;
            for (int d = 0; d < D; ++d) o[d] *= fix;
            for (int c = 0; c < BC; ++c) {
                float p = expf(s[c] - mj);
                l += p;
                for (int d = 0; d < D; ++d) o[d] += p * Vj[c * D + d];
            }
            m = mj;
        }
        __syncthreads();
    }
    if (row < N)
        for (int d = 0; d < D; ++d) O[off + row * D + d] = o[d] / l;
}
