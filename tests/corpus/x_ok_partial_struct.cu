// Structs of which only the members written are read, in shared and local memory
//
// family: tempting
// kernel: partial
// grid: 1
// block: 50
// args: int[50] below 100; out int[50]
struct Record { char kind; int value; double unused; short pad[3]; };
extern "C" __global__ void partial(const int *x, int *y)
{
    __shared__ Record r[50];
    int t = threadIdx.x, scratch[8];
    r[t].kind = x[t] & 1;
    if (r[t].kind) r[t].value = x[t];
    for (int k = 0; k < x[t] % 8; ++k) scratch[k] = k * t;
    __syncthreads();
    const Record &o = r[(t + 1) % 50];
    int v = o.kind ? o.value : -1;
    if (x[t] % 8 > 2) v += scratch[x[t] % 8 - 1];
    y[t] = v;
}
