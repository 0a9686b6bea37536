// Unions, memcpy, and reinterpretation of bytes
//
// family: C++
// kernel: pun
// grid: 1
// block: 64
// args: float[64] uniform; out uint[64]; out uchar[64,4]; out float[64]

union Bits { float f; unsigned u; unsigned char b[4]; struct { unsigned mantissa : 23, exponent : 8, sign : 1; } p; };
extern "C" __global__ void pun(const float *x, unsigned *u, uchar4 *c, float *root)
{
    Bits v; v.f = x[threadIdx.x];
    u[threadIdx.x] = v.p.exponent | v.p.sign << 31;
    c[threadIdx.x] = make_uchar4(v.b[3], v.b[2], v.b[1], v.b[0]);
    float a = fabsf(v.f), y; unsigned i;
    memcpy(&i, &a, 4);
    i = 0x5f3759df - (i >> 1);
    memcpy(&y, &i, 4);
    root[threadIdx.x] = y * (1.5f - 0.5f * a * y * y);
}
