// A histogram in shared memory that counts without atomics
//
// family: planted
// kernel: histogram
// grid: 1
// block: 64
// planted: race
// args: uchar[640] below 8; out int[8]

extern "C" __global__ void histogram(const unsigned char *x, int *h)
{
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < 640; i += 64) bins[x[i]]++; // fault
    __syncthreads();
    if (threadIdx.x < 8) h[threadIdx.x] = bins[threadIdx.x];
}
