// A tensor copy to a place in shared memory that is not a multiple of 128
//
// family: planted
// kernel: load
// grid: 1
// block: 64
// planted: misaligned
// args: map float[16,16] uniform box 8,8; out float[64]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(barrier *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared(b)), "r"(count) : "memory");
}
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive_expect(barrier *b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared(b)), "r"(bytes) : "memory");
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
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map, float *y)
{
    __shared__ __align__(128) float s[80];
    __shared__ barrier full;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, 256);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(shared(s + 4)), "l"(&map), "r"(0), "r"(0), "r"(shared(&full)) : "memory"); // fault
    }
    __syncthreads();
    wait(&full, 0);
    y[t] = s[4 + t];
}
