// erff, erfcf, erfinvf, normcdff, lgammaf, tgammaf
//
// family: math functions
// kernel: special
// grid: 1
// block: 96
// approximate: 6 ulp
// args: float[96] uniform -3 3; out float[6,96]

extern "C" __global__ void special(const float *x, float *y)
{
    int i = threadIdx.x; float v = x[i];
    y[i] = erff(v); y[96 + i] = erfcf(v); y[192 + i] = erfinvf(v / 3.1f); y[288 + i] = normcdff(v);
    y[384 + i] = lgammaf(fabsf(v) + 3.5f); y[480 + i] = tgammaf(fabsf(v) + 0.5f);
}
