// assert that holds, beside work
//
// family: output
// kernel: checked
// grid: 2
// block: 50
// args: int[100] permutation; out int[100]; int 100

extern "C" __global__ void checked(const int *p, int *inverse, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n && "one thread for each element");
    assert(p[i] >= 0 && p[i] < n);
    inverse[p[i]] = i;
}
