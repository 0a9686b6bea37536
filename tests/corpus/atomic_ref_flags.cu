// cuda::atomic_ref with acquire and release between blocks
//
// family: memory order
// kernel: passOn
// grid: 3
// block: 32
// counters: none
// headers: cuda/atomic
// args: int[96] zeros; int[4] values 1 0 0 0; out int[32]

#include <cuda/atomic>

extern "C" __global__ void passOn(int *data, int *flag, int *out)
{
    int b = blockIdx.x, t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> mine(flag[b]), next(flag[b + 1]);
    if (t == 0) while (mine.load(cuda::memory_order_acquire) == 0) { }
    __syncthreads();
    int v = b ? data[32 * (b - 1) + 31 - t] : t;
    data[32 * b + t] = v + 1;
    if (b == 2) out[t] = v;
    __syncthreads();
    if (t == 0) next.store(1, cuda::memory_order_release);
}
