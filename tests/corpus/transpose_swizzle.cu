// Transpose through a tile swizzled by xor
//
// family: transpose
// kernel: swizzled
// grid: 1 2
// block: 32 8
// args: uint[64,32] bits; out uint[32,64]

extern "C" __global__ void swizzled(const unsigned* in, unsigned* out)
{
    __shared__ unsigned tile[32 * 32];
    for (int k = threadIdx.y; k < 32; k += 8)
        tile[k * 32 + (threadIdx.x ^ k)] = in[(blockIdx.y * 32 + k) * 32 + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8)
        out[k * 64 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x * 32 + (k ^ threadIdx.x)];
}
