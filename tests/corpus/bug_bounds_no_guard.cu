// The guard i < n is missing and the grid covers more
//
// family: planted
// kernel: add
// grid: 4
// block: 64
// planted: out of bounds
// args: float[250] uniform; float[250] uniform; out float[250]

extern "C" __global__ void add(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i]; // fault
}
