// A tile one element too short for its right halo
//
// family: planted
// kernel: blur
// grid: 3
// block: 64
// args: float[192] uniform; out float[192]; int 192
// planted: out of bounds
#define BLOCK 64
#define RADIUS 2

extern "C" __global__ void blur(const float *in, float *out, int n)
{
    __shared__ float s[BLOCK + 2 * RADIUS - 1];
    int g = blockIdx.x * BLOCK + threadIdx.x, l = threadIdx.x + RADIUS;
    s[l] = in[g];
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0;
        s[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0; // fault
    }
    __syncthreads();
    float a = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) a += s[l + k]; // fault
    out[g] = a / (2 * RADIUS + 1);
}
