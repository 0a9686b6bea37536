// A float2 read at an odd column of a row
//
// family: planted
// kernel: pairs
// grid: 1
// block: 32
// args: float[10,7] uniform; out float[10,2]; int 10; int 7
// planted: misaligned
extern "C" __global__ void pairs(const float *m, float *out, int rows, int cols)
{
    int r = threadIdx.x;
    if (r >= rows) return;
    const float *row = m + r * cols;
    float2 v = *reinterpret_cast<const float2 *>(row + 2); // fault
    out[2 * r] = v.x;
    out[2 * r + 1] = v.y;
}
