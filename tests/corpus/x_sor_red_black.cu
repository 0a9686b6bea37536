// Red-black over-relaxation in shared memory, several sweeps
//
// family: stencil
// kernel: sor
// grid: 1
// block: 19 13
// args: float[13,19] uniform; float[13,19] uniform; float 1.5; int 4
extern "C" __global__ void sor(float *u, const float *f, float omega, int sweeps)
{
    __shared__ float s[13][19];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = u[y * 19 + x];
    float rhs = f[y * 19 + x];
    __syncthreads();
    bool inner = x > 0 && x < 18 && y > 0 && y < 12;
    for (int k = 0; k < sweeps; ++k) {
        for (int colour = 0; colour < 2; ++colour) {
            if (inner && ((x ^ y) & 1) == colour) {
                float r = 0.25f * (s[y][x - 1] + s[y][x + 1] + s[y - 1][x] + s[y + 1][x] - rhs) - s[y][x];
                s[y][x] += omega * r;
            }
            __syncthreads();
        }
    }
    u[y * 19 + x] = s[y][x];
}
