// Inclusive scan of a block after Hillis and Steele, two buffers
//
// family: scan
// kernel: scan
// grid: 3
// block: 200
// args: int[600] below 50; out int[600]

extern "C" __global__ void scan(const int* in, int* out)
{
    __shared__ int temp[2][200];
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    int pout = 0, pin = 1;
    temp[pout][t] = in[g];
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        pout = 1 - pout; pin = 1 - pout;
        temp[pout][t] = t >= offset ? temp[pin][t] + temp[pin][t - offset] : temp[pin][t];
        __syncthreads();
    }
    out[g] = temp[pout][t];
}
