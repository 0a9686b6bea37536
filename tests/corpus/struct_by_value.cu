// A struct with padding and an array inside, by value and copied through memory
//
// family: C++
// kernel: apply
// grid: 2
// block: 32
// args: bytes 0100000000000000000000000000f83f0a0000001400000000000040ffff0000; int[64] below 100; out double[64]

struct Options { char mode; double scale; int add[2]; float bias; short last; };
__device__ __noinline__ double use(Options o, int v)
{
    return o.scale * v + o.add[v & 1] + o.bias + o.last;
}
extern "C" __global__ void apply(Options o, const int *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = o.mode ? use(o, x[i]) : 0.0;
}
