// Dynamic shared memory divided into arrays of several types
//
// family: shared memory
// kernel: divided
// grid: 2
// block: 64
// dynamic shared: 1088
// args: double[128] uniform; out double[128]; out int[2]; int 64

extern "C" __global__ void divided(const double *x, double *y, int *most, int n)
{
    extern __shared__ __align__(16) unsigned char raw[];
    double *d = (double*)raw;
    int *k = (int*)(d + n);
    short *h = (short*)(k + n);
    char *c = (char*)(h + n);
    int t = threadIdx.x, i = blockIdx.x * n + t;
    d[t] = x[i]; k[t] = (int)(x[i] * 1000); h[t] = t * 2; c[t] = t & 7;
    __syncthreads();
    int o = n - 1 - t;
    y[i] = d[o] + h[o] + c[o];
    if (t == 0) { int m = k[0]; for (int j = 1; j < n; j++) m = max(m, k[j]); most[blockIdx.x] = m; }
}
