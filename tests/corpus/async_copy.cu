// cp.async in inline PTX: two stages, 4 and 16 bytes
//
// family: asynchronous copies
// kernel: staged
// grid: 2
// block: 64
// args: float[2,4,256] uniform; out float[2,64]

__device__ void copy16(void *to, const void *from)
{
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(s), "l"(from) : "memory");
}
extern "C" __global__ void staged(const float *x, float *y)
{
    __shared__ __align__(16) float buffer[2][256];
    int t = threadIdx.x;
    x += blockIdx.x * 1024;
    copy16(&buffer[0][4 * t], x + 4 * t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    float sum = 0.f;
    for (int k = 0; k < 4; k++) {
        if (k < 3) copy16(&buffer[(k + 1) & 1][4 * t], x + (k + 1) * 256 + 4 * t);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += buffer[k & 1][t] - buffer[k & 1][255 - t];
        __syncthreads();
    }
    y[blockIdx.x * 64 + t] = sum;
}
