// Counting sort of bytes: histogram, scan by one thread, stable scatter
//
// family: sort
// kernel: countingSort
// grid: 1
// block: 64
// args: uchar[200] below 16; out uchar[200]; int 200

extern "C" __global__ void countingSort(const unsigned char* in, unsigned char* out, int n)
{
    __shared__ int count[16], start[16];
    if (threadIdx.x < 16) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&count[in[i]], 1);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0, sum = 0; k < 16; k++) { start[k] = sum; sum += count[k]; }
    __syncthreads();
    if (threadIdx.x < 16) {
        int at = start[threadIdx.x];
        for (int i = 0; i < n; i++) if (in[i] == threadIdx.x) out[at++] = in[i];
    }
}
