// Rows of a pitched array doubled, in bytes
//
// family: memory
// kernel: scaleRows
// grid: 3 3
// block: 16 8
// args: float[20,48] uniform; ulong 192; int 37; int 20; out float[20,37]
#define PTR(T, base, pitch, y) ((T*)((char*)(base) + (y) * (pitch)))

extern "C" __global__ void scaleRows(float* devPtr, size_t pitch, int width, int height, float* packed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float* row = PTR(float, devPtr, pitch, y);
    float element = row[x];
    if (x + 1 < width)
        element += PTR(const float, devPtr, pitch, height - 1 - y)[width - 1 - x] > 0 ? 1.f : -1.f;
    packed[y * width + x] = 2 * element;
}
