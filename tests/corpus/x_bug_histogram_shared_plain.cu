// A block's histogram counted with ++
//
// family: planted
// kernel: hist
// grid: 1
// block: 128
// args: uchar[500] below 10; out int[10]; int 500
// planted: race
extern "C" __global__ void hist(const unsigned char *v, int *bins, int n)
{
    __shared__ int h[10];
    if (threadIdx.x < 10) h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        h[v[i]]++; // fault
    __syncthreads();
    if (threadIdx.x < 10) bins[threadIdx.x] = h[threadIdx.x];
}
