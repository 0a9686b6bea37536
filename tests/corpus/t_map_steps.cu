// A tensor copy of every second row, and of every third plane
//
// family: tensor copies
// kernel: load
// grid: 2
// block: 64
// args: map int[9,8,8] iota box 3,4,8 steps 3,2,1; out int[2,96]

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void map_load(void *to, const CUtensorMap *map, int c0, int c1, int c2, barrier *b)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"(shared(to)), "l"(map), "r"(shared(b)), "r"(c0), "r"(c1), "r"(c2) : "memory");
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
    __shared__ __align__(128) int s[96];
    __shared__ barrier full;
    int t = threadIdx.x;
    for (int i = t; i < 96; i += 64) s[i] = -1;
    if (t == 0) init(&full, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        arrive_expect(&full, 64); // 3 planes are 1, and 4 rows 2, of 8 elements
        map_load(s, &map, 0, blockIdx.x, 3 * blockIdx.x, &full);
    }
    wait(&full, 0);
    for (int i = t; i < 96; i += 64) y[96 * blockIdx.x + i] = s[i];
}
