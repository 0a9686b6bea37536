// Normal numbers by Box and Muller, with logf, sqrtf and sincosf: no approximation in them
//
// family: random numbers
// kernel: normals
// grid: 2
// block: 64
// args: float[256] uniform 0.0001 1; out float[256]

extern "C" __global__ void normals(const float *u, float *z)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    float r = sqrtf(-2.0f * logf(u[i])), s, c;
    sincosf(6.28318530718f * u[i + 1], &s, &c);
    z[i] = r * c; z[i + 1] = r * s;
}
