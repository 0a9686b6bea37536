// Three passes of a one-bit split, as in an LSD radix sort
//
// family: sort
// kernel: radixSortBlock
// grid: 1
// block: 256
// args: uint[256] bits; uint[256] iota
typedef unsigned int uint;

__device__ uint scanBlock(uint v, uint *tmp, uint *total)
{
    uint t = threadIdx.x;
    tmp[t] = v;
    __syncthreads();
    for (uint d = 1; d < blockDim.x; d <<= 1) {
        uint x = t >= d ? tmp[t - d] : 0u;
        __syncthreads();
        tmp[t] += x;
        __syncthreads();
    }
    *total = tmp[blockDim.x - 1];
    uint r = tmp[t] - v;
    __syncthreads();
    return r;
}

extern "C" __global__ void radixSortBlock(uint *keys, uint *values)
{
    __shared__ uint tmp[256], sk[256], sv[256];
    uint t = threadIdx.x, key = keys[t], val = values[t];
    for (int bit = 28; bit < 32; ++bit) {
        uint b = (key >> bit) & 1, zeros;
        uint before = scanBlock(!b, tmp, &zeros);
        uint dst = b ? zeros + t - before : before;
        sk[dst] = key;
        sv[dst] = val;
        __syncthreads();
        key = sk[t];
        val = sv[t];
        __syncthreads();
    }
    keys[t] = key;
    values[t] = val;
}
