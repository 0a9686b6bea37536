// 1D convolution with the mask in constant memory
//
// family: convolution
// kernel: convolution
// grid: 4
// block: 64
// args: float[250] uniform; out float[250]; int 250

__constant__ float M[9] = {0.05f, 0.1f, 0.15f, 0.2f, 0.25f, 0.2f, 0.15f, 0.1f, 0.05f};
__constant__ int MASK_WIDTH = 9;

extern "C" __global__ void convolution(const float *N, float *P, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float Pvalue = 0;
    int start = i - (MASK_WIDTH / 2);
    for (int j = 0; j < MASK_WIDTH; j++)
        if (start + j >= 0 && start + j < width) Pvalue += N[start + j] * M[j];
    if (i < width) P[i] = Pvalue;
}
