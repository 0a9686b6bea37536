// A pipeline of three stages, whose last iterations have nothing to copy
//
// family: asynchronous copies
// kernel: sums
// grid: 2
// block: 64
// args: float[768] uniform; out float[128]; int 6

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
extern "C" __global__ void sums(const float *x, float *y, int n)
{
    __shared__ float s[3][64];
    int t = threadIdx.x;
    float r = 0;
    x += blockIdx.x * 384;
    for (int i = 0; i < 2; i++) { copy(&s[i][t], x + i * 64 + t); commit(); }
    for (int i = 0; i < n; i++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        r += s[i % 3][63 - t];
        if (i + 2 < n) copy(&s[(i + 2) % 3][t], x + (i + 2) * 64 + t);
        commit();
    }
    y[blockIdx.x * 64 + t] = r;
}
