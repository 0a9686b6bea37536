// cp.async in four stages, three groups under way
//
// family: cp.async
// kernel: stages
// grid: 2
// block: 64
// args: float[2,9,256] uniform; out float[2,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void stages(const float *x, float *y)
{
    __shared__ __align__(16) float stage[4][256];
    int t = threadIdx.x;
    x += blockIdx.x * 9 * 256;
    for (int k = 0; k < 3; k++) {
        copy16(&stage[k][4 * t], x + k * 256 + 4 * t);
        commit();
    }
    float sum = 0.f;
    for (int k = 0; k < 9; k++) {
        wait_group<2>();
        __syncthreads();
        if (k + 3 < 9) copy16(&stage[(k + 3) & 3][4 * t], x + (k + 3) * 256 + 4 * t);
        commit();
        const float *s = stage[k & 3];
        sum += s[t] * s[255 - t] + s[(5 * t) & 255];
    }
    y[blockIdx.x * 64 + t] = sum;
}
