// cp.async: one group too many is left under way
//
// family: planted
// kernel: staged
// grid: 1
// block: 64
// planted: asynchronous copy, race, uninitialised
// args: float[4,256] uniform; out float[64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void staged(const float *x, float *y)
{
    __shared__ __align__(16) float s[2][256];
    int t = threadIdx.x;
    float sum = 0.f;
    for (int k = 0; k < 5; k++) {
        if (k < 4)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(&s[k & 1][4 * t])), "l"(x + 256 * k + 4 * t) : "memory"); // fault
        commit();
        if (k == 0) continue;
        wait_group<2>(); // 1 would be right
        __syncthreads();
        sum += s[k - 1 & 1][255 - t]; // fault
        __syncthreads();
    }
    y[t] = sum;
}
