// A halo in shared memory that is an element too short
//
// family: planted
// kernel: stencil
// grid: 1
// block: 64
// planted: out of bounds
// args: float[66] uniform; out float[64]

extern "C" __global__ void stencil(const float *x, float *y)
{
    __shared__ float s[65];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 2)
        s[t + 64] = x[t + 64]; // fault
    __syncthreads();
    y[t] = s[t] + s[t + 1] + s[t + 2]; // fault
}
