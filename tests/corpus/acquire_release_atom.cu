// Release and acquire by atom.add in PTX: the last block reads what the others wrote
//
// family: memory order
// kernel: arrive
// grid: 4
// block: 32
// args: out int[128]; int[1] zeros; out int[1]

extern "C" __global__ void arrive(int* part, int* count, int* sum)
{
    __shared__ int ticket;
    part[blockIdx.x * 32 + threadIdx.x] = blockIdx.x + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;"
                     : "=r"(ticket) : "l"(count) : "memory");
    __syncthreads();
    if (ticket == 3 && threadIdx.x == 0) {
        int s = 0;
        for (int i = 0; i < 128; i++) s += part[i];
        *sum = s;
    }
}
