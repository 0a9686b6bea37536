// Block scan by Kogge and Stone, two buffers, with sums of blocks
//
// family: scan
// kernel: koggeStone
// grid: 4
// block: 128
// args: int[450] below 100; out int[450]; out int[4]; int 450
#define SECTION_SIZE 128

extern "C" __global__ void koggeStone(const int *X, int *Y, int *S, int n)
{
    __shared__ int XY[2][SECTION_SIZE];
    int in = 0, out = 1;
    const int i = blockIdx.x * SECTION_SIZE + threadIdx.x, t = threadIdx.x;
    XY[0][t] = i < n ? X[i] : 0;
    for (int stride = 1; stride < SECTION_SIZE; stride *= 2) {
        __syncthreads();
        if (t >= stride) XY[out][t] = XY[in][t] + XY[in][t - stride];
        else             XY[out][t] = XY[in][t];
        in ^= 1; out ^= 1;
    }
    __syncthreads();
    if (i < n) Y[i] = XY[in][t];
    if (t == SECTION_SIZE - 1) S[blockIdx.x] = XY[in][t];
}
