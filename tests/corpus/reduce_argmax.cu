// Index of the largest element: a pair travels through shuffles, ties go to the smaller index
//
// family: reduction
// kernel: argmax
// grid: 2
// block: 128
// args: float[600] uniform; int 300; out int[2]; out float[2]

struct Best { float value; int index; };

__device__ Best better(Best a, Best b) {
    if (b.value > a.value || (b.value == a.value && b.index < a.index)) return b;
    return a;
}

extern "C" __global__ void argmax(const float* x, int n, int* where, float* what)
{
    const float* row = x + (size_t)blockIdx.x * n;
    Best best{-3.402823466e+38f, n};
    for (int i = threadIdx.x; i < n; i += blockDim.x) best = better(best, Best{row[i], i});
    for (int d = 16; d > 0; d /= 2) {
        Best other;
        other.value = __shfl_xor_sync(~0u, best.value, d);
        other.index = __shfl_xor_sync(~0u, best.index, d);
        best = better(best, other);
    }
    __shared__ Best bests[4];
    if (threadIdx.x % 32 == 0) bests[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w) best = better(best, bests[w]);
        where[blockIdx.x] = best.index;
        what[blockIdx.x] = best.value;
    }
}
