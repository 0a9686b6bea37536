// A padded tile whose reader forgets the padding
//
// family: planted
// kernel: column
// grid: 1
// block: 32 32
// planted: out of bounds
// args: float[32,32] uniform; out float[32,32]

extern "C" __global__ void column(const float *x, float *y)
{
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    int k = threadIdx.x * 34 + threadIdx.y;
    y[threadIdx.y * 32 + threadIdx.x] = (&tile[0][0])[k]; // fault
}
