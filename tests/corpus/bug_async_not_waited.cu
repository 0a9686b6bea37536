// cp.async without a wait before the data is used
//
// family: planted
// kernel: fetch
// grid: 1
// block: 32
// planted: asynchronous copy, race, uninitialised
// args: int[32] iota; out int[32]

extern "C" __global__ void fetch(const int *x, int *y)
{
    __shared__ int s[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(x + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = s[31 - threadIdx.x]; // fault
}
