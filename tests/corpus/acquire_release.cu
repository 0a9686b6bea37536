// A flag between blocks by st.release and ld.acquire in inline PTX
//
// family: memory order
// kernel: handOver
// grid: 2
// counters: none
// block: 64
// args: out int[64]; out int[64]; int[1] zeros

__device__ int loadAcquire(const int *p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void storeRelease(int *p, int v) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
extern "C" __global__ void handOver(int *data, int *out, int *flag)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x * threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) storeRelease(flag, 1);
    } else {
        if (threadIdx.x == 0) while (loadAcquire(flag) == 0) { }
        __syncthreads();
        out[threadIdx.x] = data[63 - threadIdx.x] + 1;
    }
}
