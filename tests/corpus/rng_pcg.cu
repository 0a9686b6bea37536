// PCG32: a 64-bit LCG, output by xorshift and a rotation
//
// family: random numbers
// kernel: pcg
// grid: 1
// block: 100
// args: ulong 42; out uint[100]; out float[100]

struct Pcg {
    unsigned long long state, inc;
    __device__ unsigned next() {
        unsigned long long old = state;
        state = old * 6364136223846793005ULL + (inc | 1);
        unsigned xorshifted = ((old >> 18u) ^ old) >> 27u;
        unsigned rot = old >> 59u;
        return (xorshifted >> rot) | (xorshifted << ((-rot) & 31));
    }
    __device__ float uniform() { return next() * 2.3283064e-10f; }
};

extern "C" __global__ void pcg(unsigned long long seed, unsigned *u, float *f)
{
    Pcg g{seed, threadIdx.x};
    for (int k = 0; k < 10; ++k) g.next();
    u[threadIdx.x] = g.next();
    f[threadIdx.x] = g.uniform();
}
