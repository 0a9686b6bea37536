// The option -use_fast_math: division, square root, subnormals to zero, sinf
//
// family: math functions
// kernel: withFastMath
// grid: 1
// block: 96
// options: -use_fast_math
// approximate: 1e-6 absolute
// args: float[96] uniform 0.1 3; out float[6,96]

extern "C" __global__ void withFastMath(const float *x, float *y)
{
    int i = threadIdx.x; float v = x[i];
    y[i] = v / (v + 1.0f); y[96 + i] = sqrtf(v); y[192 + i] = sinf(v); y[288 + i] = expf(-v);
    y[384 + i] = v * 1e-39f * 1e30f; y[480 + i] = v * v - 0.5f * v;
}
