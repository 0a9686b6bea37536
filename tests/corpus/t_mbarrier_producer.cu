// A warp that produces and three that consume, over two stages
//
// family: memory barriers
// kernel: pipe
// grid: 1
// block: 128
// args: int[10,32] below 100; out int[3,32]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
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
extern "C" __global__ void pipe(const int *x, int *y)
{
    __shared__ int stage[2][32];
    __shared__ barrier full[2], empty[2];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            init(&full[i], 32);
            init(&empty[i], 96);
        }
    __syncthreads();
    if (warp == 0) {
        for (int k = 0; k < 10; k++) {
            int i = k & 1, round = k >> 1;
            wait(&empty[i], (round & 1) ^ 1); // passes at once in the first round
            stage[i][lane] = x[32 * k + lane] * (k + 1);
            arrive(&full[i]);
        }
        return;
    }
    int sum = 0;
    for (int k = 0; k < 10; k++) {
        int i = k & 1, round = k >> 1;
        wait(&full[i], round & 1);
        sum = sum * 3 + stage[i][(lane + 7 * (warp - 1) + 1) % 32];
        arrive(&empty[i]);
    }
    y[(warp - 1) * 32 + lane] = sum;
}
