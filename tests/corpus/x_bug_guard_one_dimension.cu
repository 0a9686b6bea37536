// An image guarded in x alone: the last rows of blocks run past the end
//
// family: planted
// kernel: brighten
// grid: 2 2
// block: 16 16
// args: float[25,30] uniform; int 30; int 25; float 0.5
// planted: out of bounds
extern "C" __global__ void brighten(float *img, int w, int h, float by)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w) return;
    float *p = &img[y * w + x];
    *p += by; // fault
}
