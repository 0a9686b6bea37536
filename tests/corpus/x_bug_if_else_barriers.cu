// A barrier in one arm, for the threads of half a warp
//
// family: planted
// kernel: arms
// grid: 2
// block: 48
// args: int[96] below 100; out int[96]
// planted: barrier
extern "C" __global__ void arms(const int *in, int *out)
{
    __shared__ int s[48];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    if (t < 16) {
        s[t] *= 2;
        __syncthreads(); // fault
        out[i] = s[t];
    } else {
        out[i] = in[i];
    }
}
