// The last tile of shared memory is filled in part and read whole
//
// family: planted
// kernel: sumTile
// grid: 2
// block: 64
// planted: uninitialised
// args: float[100] uniform; int 100; out float[2]

extern "C" __global__ void sumTile(const float *x, int n, float *y)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) s[threadIdx.x] = x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        float t = 0;
        for (int k = 0; k < 64; k++)
            t += s[k]; // fault
        y[blockIdx.x] = t;
    }
}
