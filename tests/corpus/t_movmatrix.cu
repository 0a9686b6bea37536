// movmatrix: a matrix in registers is transposed
//
// family: matrix loads
// kernel: move
// grid: 1
// block: 64
// args: uint[64] bits; out uint[64]

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void move(const unsigned *x, unsigned *y)
{
    unsigned r = x[threadIdx.x], q;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(q) : "r"(r));
    y[threadIdx.x] = q;
}
