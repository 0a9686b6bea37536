// __fdividef, the approximate reciprocal and square root, also beyond 2 to the power of 126
//
// family: math functions
// kernel: divisions
// grid: 1
// block: 64
// approximate: 2 ulp
// args: float[64] uniform 1 100; float[64] values 3 0.1 7.5 1e38 2e38 1e-30 123.4; out float[3,64]

extern "C" __global__ void divisions(const float *x, const float *y, float *r)
{
    int i = threadIdx.x; float a;
    r[i] = __fdividef(x[i], y[i]);
    asm("rcp.approx.f32 %0, %1;" : "=f"(a) : "f"(x[i]));
    r[64 + i] = a;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(a) : "f"(x[i]));
    r[128 + i] = a;
}
