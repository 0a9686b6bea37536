// cp.async: each thread waits for its own copies, and reads those of others
//
// family: planted
// kernel: reverse
// grid: 2
// block: 128
// planted: race, asynchronous copy
// args: float[2,512] uniform; out float[2,128]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void reverse(const float *x, float *y)
{
    __shared__ __align__(16) float s[512];
    int t = threadIdx.x;
    x += blockIdx.x * 512;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(&s[4 * t])), "l"(x + 4 * t) : "memory"); // fault
    wait_all();
    y[blockIdx.x * 128 + t] = s[511 - t]; // fault
}
