// The last vector of a row overhangs into the next row's start, inside the array
//
// family: tempting
// kernel: rows
// grid: 1
// block: 32
// args: float[6,6] uniform; out float[6]; int 6; int 6
extern "C" __global__ void rows(const float *m, float *sum, int rows, int cols)
{
    int r = threadIdx.x;
    if (r >= rows) return;
    const float2 *v = reinterpret_cast<const float2 *>(m + r * cols);
    float s = 0;
    for (int k = 0; k < (cols + 3) / 4 * 2; ++k) {
        if (2 * k + r * cols >= rows * cols) break;
        float2 p = v[k];
        s += 2 * k < cols ? p.x : 0;
        s += 2 * k + 1 < cols ? p.y : 0;
    }
    sum[r] = s;
}
