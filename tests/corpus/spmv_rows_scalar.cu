// A sparse matrix times a vector, a thread for each row, of lengths that differ
//
// family: sparse rows
// kernel: product
// grid: 2
// block: 64
// approximate: 1e-5 absolute
// args: int 128; float[4096] uniform; float[64] uniform; out float[128]

extern "C" __global__ void product(int rows, const float *val, const float *x, float *y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0;
    int begin = r * 32, end = begin + r * 13 % 31; // rows of 0 to 30
    for (int j = begin; j < end; j++) s += val[j] * x[j * 7 & 63];
    y[r] = s;
}
