// Tensor copies of boxes that lie partly or wholly outside: zeros
//
// family: tensor copies
// kernel: load
// grid: 6
// block: 64
// args: map int[20,20] below 1000 box 8,8; out int[6,64]

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
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map, int *y)
{
    __shared__ __align__(128) int s[64];
    __shared__ barrier full;
    int t = threadIdx.x;
    if (t == 0) {
        const int columns[6] = {-4, 16, 12, 100, 4, -8}, rows[6] = {-2, 17, -5, 3, 8, 0};
        init(&full, 1);
        fence_init();
        arrive_expect(&full, sizeof s); // what lies outside counts
        map_load(s, &map, columns[blockIdx.x], rows[blockIdx.x], &full);
    }
    __syncthreads();
    wait(&full, 0);
    y[64 * blockIdx.x + t] = s[t];
}
