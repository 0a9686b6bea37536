// Atomics of every kind in shared memory, in 32 and 64 bits
//
// family: atomics
// kernel: zoo
// grid: 2
// block: 70
// args: int[140] bits; out int[2,10]; out long[2,6]
typedef long long ll;
typedef unsigned long long ull;
extern "C" __global__ void zoo(const int *x, int *o32, ll *o64)
{
    __shared__ int s[10];
    __shared__ ull l[6];
    int t = threadIdx.x, v = x[blockIdx.x * blockDim.x + t];
    if (t < 10) s[t] = t == 2 || t == 4 ? -1 : t == 3 ? 0x80000000 : 0;
    if (t >= 32 && t < 38) l[t - 32] = t == 34 || t == 35 ? ~0ull : 0;
    __syncthreads();
    atomicAdd(&s[0], v);
    atomicSub(&s[1], v >> 3);
    atomicMin((unsigned *)&s[2], (unsigned)v);
    atomicMax(&s[3], v);
    atomicAnd(&s[4], v | 0x00ff00ff);
    atomicOr(&s[5], v & 0x10101010);
    atomicXor(&s[6], v);
    atomicInc((unsigned *)&s[7], 12u);
    atomicDec((unsigned *)&s[8], 9u);
    if (v % 5 == 0) atomicCAS(&s[9], 0, 77);
    atomicAdd(&l[0], (ull)v * 0x100000001ull);
    atomicMax(&l[1], (ull)(unsigned)v << 20);
    atomicMin(&l[2], (ull)(unsigned)v << 13);
    atomicAnd(&l[3], (ull)(ll)v | 0xff);
    atomicOr(&l[4], (ull)(v & 0x11) << 37);
    atomicXor(&l[5], (ull)v);
    __syncthreads();
    if (t < 10) o32[blockIdx.x * 10 + t] = s[t];
    if (t < 6) o64[blockIdx.x * 6 + t] = l[t];
}
