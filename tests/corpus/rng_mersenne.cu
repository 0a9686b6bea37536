// Mersenne twister 19937 in one block: seed by one thread, a generation by many
//
// family: random numbers
// kernel: mt19937
// grid: 1
// block: 208
// args: uint 5489; out uint[624]

extern "C" __global__ void mt19937(unsigned seed, unsigned *out)
{
    __shared__ unsigned mt[624];
    if (threadIdx.x == 0) {
        mt[0] = seed;
        for (int i = 1; i < 624; i++) mt[i] = 1812433253u * (mt[i - 1] ^ (mt[i - 1] >> 30)) + i;
    }
    __syncthreads();
    for (int part = 0; part < 3; part++) {
        int i = part * 208 + threadIdx.x;
        unsigned y = (mt[i] & 0x80000000u) | (mt[(i + 1) % 624] & 0x7fffffffu);
        unsigned far = mt[(i + 397) % 624];
        __syncthreads();
        mt[i] = far ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 624; i += 208) {
        unsigned y = mt[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        out[i] = y ^ (y >> 18);
    }
}
