// Dynamic shared memory in bytes where the launch counts elements
//
// family: planted
// kernel: reverse
// grid: 1
// block: 128
// dynamic shared: 128
// planted: out of bounds
// args: int[128] iota; out int[128]

extern "C" __global__ void reverse(const int *in, int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = in[threadIdx.x]; // fault
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x]; // fault
}
