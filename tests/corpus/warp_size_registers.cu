// warpSize, %laneid, %lanemask, %warpid and the sizes of the launch
//
// family: special registers
// kernel: who
// grid: 2 2 2
// block: 8 6
// compare: none for 1
// args: out uint[8,48,6]; out uint[8,48]

extern "C" __global__ void who(unsigned *r, unsigned *place)
{
    unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x, *p = r + (b * 48 + t) * 6;
    unsigned lane, lt, ge, smid, warp;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    p[0] = lane; p[1] = lt; p[2] = ge; p[3] = warpSize; p[4] = gridDim.x * 100 + gridDim.y * 10 + gridDim.z;
    p[5] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
    place[b * 48 + t] = smid * 64 + warp;
}
