// Transpose of bytes
//
// family: transpose
// kernel: transposeT<unsigned char>
// grid: 3 2
// block: 16 16
// args: uchar[32,48] bits; out uchar[48,32]; int 48; int 32

template <typename T>
__global__ void transposeT(const T* __restrict__ in, T* __restrict__ out, int w, int h)
{
    __shared__ T tile[16][16 + 1];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
