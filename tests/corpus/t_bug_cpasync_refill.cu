// cp.async: a stage is refilled while other warps still read it
//
// family: planted
// kernel: staged
// grid: 1
// block: 128
// planted: race, asynchronous copy
// args: float[6,512] uniform; out float[128]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void staged(const float *x, float *y)
{
    __shared__ __align__(16) float s[2][512];
    int t = threadIdx.x;
    float sum = 0.f;
    for (int k = 0; k < 7; k++) {
        if (k < 6)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(&s[k & 1][4 * t])), "l"(x + 512 * k + 4 * t) : "memory"); // fault
        commit();
        if (k == 0) continue;
        wait_group<1>();
        __syncthreads();
        sum += s[k - 1 & 1][511 - t]; // fault
        // a barrier is missing here: the next copy goes to the stage that was just read
    }
    y[t] = sum;
}
