// 3D stencil that marches along z with registers, a plane in shared memory
//
// family: stencil
// kernel: march
// grid: 2 2
// block: 16 8
// args: float[6,16,32] uniform; out float[6,16,32]; int 6

extern "C" __global__ void march(const float* __restrict__ in, float* __restrict__ out, int nz)
{
    __shared__ float plane[8 + 2][16 + 2];
    const int nx = 32, ny = 16, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int p = y * nx + x;
    float behind = 0.f, here = in[p], front = in[p + nx * ny];
    for (int z = 0; z < nz; z++) {
        plane[ty][tx] = here;
        if (tx == 1) plane[ty][0] = x > 0 ? in[p - 1] : 0.f;
        if (tx == 16) plane[ty][17] = x < nx - 1 ? in[p + 1] : 0.f;
        if (ty == 1) plane[0][tx] = y > 0 ? in[p - nx] : 0.f;
        if (ty == 8) plane[9][tx] = y < ny - 1 ? in[p + nx] : 0.f;
        __syncthreads();
        out[p] = 0.5f * here + 0.1f * (plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx]
                 + plane[ty + 1][tx] + behind + front);
        __syncthreads();
        p += nx * ny;
        behind = here; here = front;
        front = z + 2 < nz ? in[p + nx * ny] : 0.f;
    }
}
