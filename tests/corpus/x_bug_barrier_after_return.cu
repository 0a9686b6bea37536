// Threads past the end leave a loop of barriers before the others do
//
// family: planted
// kernel: sweep
// grid: 1
// block: 64
// args: float[64] uniform; int 64
// planted: barrier
extern "C" __global__ void sweep(float *x, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    int rounds = 2 + t % 3;
    for (int k = 0; k < rounds; ++k) {
        float v = s[(t + 1) % n];
        __syncthreads(); // fault
        s[t] = 0.5f * (s[t] + v);
        __syncthreads(); // fault
    }
    x[t] = s[t];
}
