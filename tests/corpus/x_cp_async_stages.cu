// Three stages of cp.async in inline PTX, 4 and 16 bytes, zero-filled tail
//
// family: asynchronous copies
// kernel: pipeline
// grid: 2
// block: 32
// args: float[2,7,128] uniform; out float[2,7,128]; out float[2]; int 7
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void pipeline(const float *g, float *out, float *sum, int tiles)
{
    __shared__ __align__(16) float buf[3][128];
    __shared__ float tail[32];
    const int t = threadIdx.x;
    g += blockIdx.x * tiles * 128; out += blockIdx.x * tiles * 128;
    auto fetch = [&](int k) {
        if (k < tiles)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" :: "r"(smem(&buf[k % 3][4 * t])), "l"(g + k * 128 + 4 * t));
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    };
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" :: "r"(smem(&tail[t])), "l"(g + t), "r"(t < 20 ? 4 : 0));
    fetch(0);
    fetch(1);
    for (int k = 0; k < tiles; ++k) {
        fetch(k + 2);
        asm volatile("cp.async.wait_group %0;\n" :: "n"(2) : "memory");
        __syncwarp();
        float4 v = *(float4 *)&buf[k % 3][4 * (31 - t)];
        *(float4 *)&out[k * 128 + 4 * t] = make_float4(v.w, v.z, v.y, v.x);
        __syncwarp();
    }
    float s = tail[t ^ 1];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (t == 0) sum[blockIdx.x] = s;
}
