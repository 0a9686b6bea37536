// 7-point stencil in 3D with a 3D grid and block
//
// family: stencil
// kernel: laplace3d
// grid: 2 3 2
// block: 8 4 4
// args: float[7,10,14] uniform; out float[7,10,14]

extern "C" __global__ void laplace3d(const float *a, float *b)
{
    const int NX = 14, NY = 10, NZ = 7;
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= NX || y >= NY || z >= NZ) return;
    auto at = [&](int i, int j, int k) {
        i = min(max(i, 0), NX - 1); j = min(max(j, 0), NY - 1); k = min(max(k, 0), NZ - 1);
        return a[(k * NY + j) * NX + i];
    };
    b[(z * NY + y) * NX + x] = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z)
        + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1) - 6.f * at(x, y, z);
}
