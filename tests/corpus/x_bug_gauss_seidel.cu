// Red-black sweeps without the barrier between the colours
//
// family: planted
// kernel: sweeps
// grid: 1
// block: 16 16
// args: float[16,16] uniform; int 3
// planted: race
extern "C" __global__ void sweeps(float *u, int n)
{
    __shared__ float s[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = u[y * 16 + x];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        for (int c = 0; c < 2; ++c)
            if (x > 0 && x < 15 && y > 0 && y < 15 && (x + y) % 2 == c)
                s[y][x] = 0.25f * (s[y - 1][x] + s[y + 1][x] + s[y][x - 1] + s[y][x + 1]); // fault
        __syncthreads();
    }
    u[y * 16 + x] = s[y][x];
}
