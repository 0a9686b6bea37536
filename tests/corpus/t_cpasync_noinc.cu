// Copies that arrive at an mbarrier which counts them
//
// family: cp.async
// kernel: staged
// grid: 2
// block: 64
// args: float[2,256] uniform; out float[2,64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared(to)), "l"(from) : "memory");
}
typedef unsigned long long barrier; // an mbarrier object
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ bool try_wait(barrier *b, int parity)
{
    int done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.s32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
    return done;
}
__device__ void wait(barrier *b, int parity)
{
    while (!try_wait(b, parity)) { }
}
extern "C" __global__ void staged(const float *x, float *y)
{
    __shared__ __align__(16) float s[256];
    __shared__ barrier full;
    int t = threadIdx.x;
    if (t == 0) init(&full, 64);
    __syncthreads();
    copy16(&s[4 * t], x + blockIdx.x * 256 + 4 * t);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(shared(&full)) : "memory");
    wait(&full, 0);
    y[blockIdx.x * 64 + t] = s[t] + 2.f * s[255 - t];
}
