// Box and Muller's normals from a linear congruence, moments in double
//
// family: random
// kernel: normals
// grid: 2
// block: 32
// args: uint 2024; out float[64,4]; out double[64,2]
// approximate: 1e-4 absolute
class Lcg {
    unsigned s;
public:
    __device__ Lcg(unsigned seed, unsigned skip) : s(seed) { for (unsigned k = 0; k < skip; ++k) s = 1664525u * s + 1013904223u; }
    __device__ float uniform() { s = 1664525u * s + 1013904223u; return ((s >> 9) + 0.5f) / 8388608.0f; }
};
extern "C" __global__ void normals(unsigned seed, float *z, double *moments)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Lcg rng(seed, 4 * i);
    double m1 = 0, m2 = 0;
#pragma unroll 2
    for (int k = 0; k < 4; k += 2) {
        float r = sqrtf(-2.0f * logf(rng.uniform())), s, c;
        sincospif(2.0f * rng.uniform(), &s, &c);
        z[4 * i + k] = r * c;
        z[4 * i + k + 1] = r * s;
        m1 += r * c + r * s;
        m2 += (double)r * r;
    }
    moments[2 * i] = m1;
    moments[2 * i + 1] = m2;
}
