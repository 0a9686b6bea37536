// Tensor copies of half whose boxes lie partly outside: NaNs
//
// family: tensor copies
// kernel: load
// grid: 4
// block: 128
// args: map half[12,24] uniform box 8,16 fill nan; out ushort[4,128]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void map_load(void *to, const CUtensorMap *map, int c0, int c1, barrier *b)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared(to)), "l"(map), "r"(shared(b)), "r"(c0), "r"(c1) : "memory");
}
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
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map, unsigned short *y)
{
    __shared__ __align__(128) unsigned short s[128];
    __shared__ barrier full;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, sizeof s);
        map_load(s, &map, 24 * (blockIdx.x % 2) - 8, 10 * (blockIdx.x / 2) - 5, &full);
    }
    __syncthreads();
    wait(&full, 0);
    y[128 * blockIdx.x + t] = s[t];
}
