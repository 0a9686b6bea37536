// Correct: neighbours write neighbouring bytes and halves of the same words
//
// family: correct but suspicious
// kernel: bytes
// grid: 2
// block: 64
// args: uchar[128] bits; out uchar[128]; out ushort[128]

extern "C" __global__ void bytes(const unsigned char *x, unsigned char *y, unsigned short *z)
{
    __shared__ unsigned char s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = x[i] + 1;
    __syncthreads();
    y[i] = s[t ^ 1];
    z[i] = s[63 - t] << 4;
}
