// A tiled loop without the barrier after the use of the tile
//
// family: planted
// kernel: sums
// grid: 1
// block: 64
// planted: race
// args: float[256] uniform; out float[64]

extern "C" __global__ void sums(const float *x, float *y)
{
    __shared__ float tile[64];
    float s = 0;
    for (int k = 0; k < 4; k++) {
        tile[threadIdx.x] = x[k * 64 + threadIdx.x]; // fault
        __syncthreads();
        for (int j = 0; j < 64; j++) s += tile[j] * (j + 1);
    }
    y[threadIdx.x] = s;
}
