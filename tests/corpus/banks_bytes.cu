// Bytes, shorts and doubles in shared memory: several lanes in a word
//
// family: banks
// kernel: widths
// grid: 1
// block: 128
// args: uchar[128] bits; out uchar[128]; out short[128]; out double[128]

extern "C" __global__ void widths(const unsigned char* x, unsigned char* c, short* h, double* d)
{
    __shared__ unsigned char sc[512];
    __shared__ short sh[256];
    __shared__ double sd[129];
    int t = threadIdx.x;
    sc[4 * t] = x[t]; sh[2 * t] = x[t] * 3; sd[t] = x[t] * 0.5;
    __syncthreads();
    c[t] = sc[4 * ((t * 9) & 127)]; h[t] = sh[2 * (127 - t)]; d[t] = sd[(t * 16) & 127];
}
