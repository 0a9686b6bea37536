// Product of bit matrices by xor and popcount, bits packed by ballots
//
// family: bits
// kernel: xnor
// grid: 2
// block: 32 4
// args: float[8,70] uniform; float[9,70] uniform; out int[8,9]; int 8; int 9; int 70
extern "C" __global__ void xnor(const float *a, const float *b, int *c, int m, int n, int k)
{
    __shared__ unsigned pb[9][3];
    int lane = threadIdx.x, w = threadIdx.y, words = (k + 31) / 32;
    for (int r = w; r < n; r += blockDim.y)
        for (int j = 0; j < words; ++j) {
            int at = j * 32 + lane;
            unsigned bits = __ballot_sync(0xffffffff, at < k && b[r * k + at] > 0);
            if (lane == 0) pb[r][j] = bits;
        }
    __syncthreads();
    int row = blockIdx.x * blockDim.y + w;
    int dot = 0;
    for (int j = 0; j < words; ++j) {
        int at = j * 32 + lane;
        unsigned bits = __ballot_sync(0xffffffff, at < k && a[row * k + min(at, k - 1)] > 0);
        if (lane < n) dot += __popc(bits ^ pb[lane][j]);
    }
    if (lane < n && row < m) c[row * n + lane] = k - 2 * dot;
}
