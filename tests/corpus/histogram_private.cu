// Histogram with a private counter of bytes for each thread
//
// family: histogram
// kernel: privatised
// grid: 1
// block: 64
// args: uchar[640] below 8; out int[8]

extern "C" __global__ void privatised(const unsigned char* x, int* h)
{
    __shared__ unsigned char c[8][64];
    for (int b = 0; b < 8; b++) c[b][threadIdx.x] = 0;
    for (int k = 0; k < 10; k++) c[x[k * 64 + threadIdx.x]][threadIdx.x]++;
    __syncthreads();
    if (threadIdx.x < 8) {
        int s = 0;
        for (int t = 0; t < 64; t++) s += c[threadIdx.x][t];
        h[threadIdx.x] = s;
    }
}
