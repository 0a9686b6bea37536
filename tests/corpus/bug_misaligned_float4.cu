// float4 from an address that is no multiple of 16
//
// family: planted
// kernel: load4
// grid: 1
// block: 32
// planted: misaligned
// args: float[133] uniform; out float[128]

extern "C" __global__ void load4(const float *x, float4 *y)
{
    const float4 *p = reinterpret_cast<const float4*>(x + 1);
    y[threadIdx.x] = p[threadIdx.x]; // fault
}
