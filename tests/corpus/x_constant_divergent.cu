// A constexpr table in constant memory, indexed uniformly and divergently
//
// family: memory
// kernel: tables
// grid: 3
// block: 50
// args: int[150] below 64; out float[150]; out int[150]; int 150
struct Table { float sq[64]; int tri[64]; };
__host__ __device__ constexpr Table make()
{
    Table t{};
    for (int i = 0; i < 64; ++i) { t.sq[i] = i * i * 0.5f; t.tri[i] = i * (i + 1) / 2; }
    return t;
}
__constant__ Table table = make();
static __constant__ const int perm[8] = {3, 1, 4, 0, 5, 2, 7, 6};
extern "C" __global__ void tables(const int *at, float *f, int *k, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        float s = 0;
        for (int j = 0; j < 8; ++j) s += table.sq[j * 8 + perm[j]];
        f[i] = s + table.sq[at[i]];
        k[i] = table.tri[at[i]] - table.tri[blockIdx.x] + perm[i % 8];
    }
}
