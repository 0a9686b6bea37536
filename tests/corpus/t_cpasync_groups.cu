// Groups waited for one after the other, each thread its own
//
// family: cp.async
// kernel: groups
// grid: 1
// block: 32
// args: int[5,32] iota; out int[5,32]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void groups(const int *x, int *y)
{
    __shared__ int s[5][32];
    int t = threadIdx.x;
    for (int k = 0; k < 5; k++) {
        s[k][t] = -1;
        copy4(&s[k][t], &x[32 * k + t]);
        if (k != 2) commit(); // rows 2 and 3 are one group
    }
    wait_group<3>();
    y[t] = s[0][t];
    wait_group<2>();
    y[32 + t] = s[1][t];
    wait_group<1>();
    y[64 + t] = s[2][t] + s[3][t];
    wait_group<0>();
    y[96 + t] = s[4][t];
    y[128 + t] = s[3][t];
}
