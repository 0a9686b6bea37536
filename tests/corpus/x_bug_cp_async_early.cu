// cp.async with two groups in flight, waited for as if there were one
//
// family: planted
// kernel: early
// grid: 1
// block: 32
// args: float[128] uniform; out float[128]
// planted: asynchronous copy
extern "C" __global__ void early(const float *g, float *out)
{
    __shared__ float buf[2][32];
    int t = threadIdx.x;
    unsigned s0 = (unsigned)__cvta_generic_to_shared(&buf[0][t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s0), "l"(g + t));
    asm volatile("cp.async.commit_group;");
    for (int k = 0; k < 4; ++k) {
        if (k < 3) {
            unsigned s = (unsigned)__cvta_generic_to_shared(&buf[(k + 1) & 1][t]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(g + (k + 1) * 32 + t));
            asm volatile("cp.async.commit_group;");
        }
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        out[k * 32 + t] = buf[k & 1][t]; // fault
    }
}
