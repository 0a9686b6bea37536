// Copies that arrive beside their threads: two stages and two mbarriers
//
// family: cp.async
// kernel: staged
// grid: 1
// block: 64
// args: float[6,256] uniform; out float[64]

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
__device__ void arrive(barrier *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared(b)) : "memory");
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
__device__ void arrive_copied(barrier *b)
{
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(shared(b)) : "memory");
}
extern "C" __global__ void staged(const float *x, float *y)
{
    __shared__ __align__(16) float s[2][256];
    __shared__ barrier full[2];
    int t = threadIdx.x;
    if (t < 2) init(&full[t], 64);
    __syncthreads();
    copy16(&s[0][4 * t], x + 4 * t);
    arrive_copied(&full[0]);
    arrive(&full[0]);
    float sum = 0.f;
    for (int k = 0; k < 6; k++) {
        if (k + 1 < 6) {
            int next = (k + 1) & 1;
            copy16(&s[next][4 * t], x + (k + 1) * 256 + 4 * t);
            arrive_copied(&full[next]);
            arrive(&full[next]);
        }
        wait(&full[k & 1], (k >> 1) & 1);
        sum = sum * 0.5f + s[k & 1][255 - t];
        __syncthreads();
    }
    y[t] = sum;
}
