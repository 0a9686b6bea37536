// sinhf, coshf, tanhf
//
// family: math functions
// kernel: hyperbolic
// grid: 1
// block: 96
// approximate: 3 ulp
// args: float[96] uniform -8 8; out float[3,96]

extern "C" __global__ void hyperbolic(const float *x, float *y)
{
    int i = threadIdx.x;
    y[i] = sinhf(x[i]); y[96 + i] = coshf(x[i]); y[192 + i] = tanhf(x[i]);
}
