// Every atomic of integers in shared and global memory
//
// family: atomics
// kernel: every
// grid: 2
// block: 33
// args: uint[11] values 0 0 4294967295 0 4294967295 0 0 0 100 7 0; long[3] values 5 -9000000000 9000000000; out uint[2]

extern "C" __global__ void every(unsigned *g, long long *l, unsigned *inner)
{
    __shared__ unsigned s[3];
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 3) s[threadIdx.x] = threadIdx.x == 1 ? ~0u : 0u;
    __syncthreads();
    atomicAdd(&s[0], t);
    atomicMin(&s[1], t * 7 + 3);
    atomicOr(&s[2], 1u << (t & 31));
    __syncthreads();
    if (threadIdx.x == 0) inner[blockIdx.x] = s[0] ^ s[1] * 31 ^ s[2];
    atomicAdd(&g[0], t * t); atomicSub(&g[1], t); atomicMin(&g[2], 1000 - t); atomicMax(&g[3], t * 3);
    atomicAnd(&g[4], ~(1u << (t & 15))); atomicOr(&g[5], 1u << (t % 20)); atomicXor(&g[6], t * 0x01010101u);
    atomicInc(&g[7], 40); atomicDec(&g[8], 50);
    atomicAdd((unsigned long long*)&l[0], (unsigned long long)t << 33);
    atomicMax(&l[1], (long long)t * 1000000000LL); atomicMin(&l[2], -(long long)t);
}
