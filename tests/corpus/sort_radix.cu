// Radix sort of a block, one bit at a time
//
// family: sort
// kernel: radixSort
// grid: 2
// block: 128
// args: uint[256] below 65536

__device__ unsigned scanExclusive(unsigned v, unsigned *total)
{
    __shared__ unsigned s[128];
    unsigned t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (unsigned d = 1; d < 128; d <<= 1) {
        unsigned a = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += a;
        __syncthreads();
    }
    *total = s[127];
    unsigned r = s[t] - v;
    __syncthreads();
    return r;
}

extern "C" __global__ void radixSort(unsigned *data)
{
    __shared__ unsigned keys[128];
    unsigned t = threadIdx.x;
    keys[t] = data[blockIdx.x * 128 + t];
    __syncthreads();
    for (int bit = 0; bit < 16; ++bit) {
        unsigned k = keys[t], zero = !((k >> bit) & 1), zeros;
        unsigned rank = scanExclusive(zero, &zeros);
        unsigned to = zero ? rank : zeros + t - rank;
        keys[to] = k;
        __syncthreads();
    }
    data[blockIdx.x * 128 + t] = keys[t];
}
