// Sparse COO by atomicAdd on float, values that add without rounding
//
// family: sparse
// kernel: coo
// grid: 2
// block: 64
// args: int[120] below 20; int[120] below 20; float[120] values 1 2 -3 0.5 4; float[20] values 1 2 4 8; float[20] zeros; int 120

extern "C" __global__ void coo(const int* r, const int* c, const float* v, const float* x, float* y, int nnz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nnz) atomicAdd(y + r[i], v[i] * x[c[i]]);
}
