// A tensor transposed: a swizzled box in, and a swizzled box out
//
// family: tensor copies
// kernel: transpose
// grid: 2 2
// block: 128
// args: map int[64,64] iota box 32,32 swizzle 128; out map int[64,64] box 32,32 swizzle 128

typedef unsigned long long barrier; // an mbarrier object
__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
struct __align__(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ void map_load(void *to, const CUtensorMap *map, int c0, int c1, barrier *b)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared(to)), "l"(map), "r"(shared(b)), "r"(c0), "r"(c1) : "memory");
}
__device__ void map_store(const CUtensorMap *map, int c0, int c1, const void *from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 :: "l"(map), "r"(shared(from)), "r"(c0), "r"(c1) : "memory");
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
// where a byte of a tile lies whose rows are S bytes long and swizzled
template <int S> __device__ unsigned swizzled(unsigned at) { return at ^ (at >> 3 & (S - 16)); }
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory"); }
extern "C" __global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to)
{
    __shared__ __align__(1024) unsigned char in[32 * 128], out[32 * 128];
    __shared__ barrier full;
    int t = threadIdx.x, column = blockIdx.x * 32, row = blockIdx.y * 32;
    if (t == 0) {
        init(&full, 1);
        fence_init();
        arrive_expect(&full, sizeof in);
        map_load(in, &from, column, row, &full);
    }
    __syncthreads();
    wait(&full, 0);
    for (int i = t; i < 1024; i += 128)
        *(int *)(out + swizzled<128>(i % 32 * 128 + i / 32 * 4)) = *(int *)(in + swizzled<128>(i / 32 * 128 + i % 32 * 4));
    fence_async();
    __syncthreads();
    if (t == 0) {
        map_store(&to, row, column, out);
        bulk_commit();
        bulk_wait<0>();
    }
}
