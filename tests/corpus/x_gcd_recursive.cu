// Greatest common divisors by recursion and by Stein, coprime pairs counted
//
// family: integer
// kernel: gcds
// grid: 2 3
// block: 16 8
// args: out int[20,30]; out int[20,30]; int 30; int 20; ulong[1] zeros
__device__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
__device__ unsigned stein(unsigned u, unsigned v)
{
    if (u == 0 || v == 0) return u | v;
    int shift = __ffs(u | v) - 1;
    u >>= __ffs(u) - 1;
    do {
        v >>= __ffs(v) - 1;
        if (u > v) { unsigned t = v; v = u; u = t; }
        v -= u;
    } while (v != 0);
    return u << shift;
}
extern "C" __global__ void gcds(int *a, int *b, int w, int h, unsigned long long *coprime)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    bool in = x < w && y < h;
    int g = 0;
    if (in) {
        g = gcd(6 * x, 4 * y + 2);
        a[y * w + x] = g;
        b[y * w + x] = (int)stein(6 * x, 4 * y + 2);
    }
    int count = __syncthreads_count(in && g == 2);
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(coprime, (unsigned long long)count);
}
