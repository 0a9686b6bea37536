// A grid-stride loop with <= : one element too many, at the end of the second array alone
//
// family: planted
// kernel: addTo
// grid: 2
// block: 64
// args: double[302] uniform; double[301] uniform; int 301
// planted: out of bounds
extern "C" __global__ void addTo(double *a, const double *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += blockDim.x * gridDim.x) {
        double v = b[i]; // fault
        a[i] = a[i] + v;
    }
}
