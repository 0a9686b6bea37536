// Heat equation in 2D, a step, fixed edges
//
// family: stencil
// kernel: heat
// grid: 3 3
// block: 16 16
// args: float[40,44] uniform 0 100; out float[40,44]; int 44; int 40; float 0.2

extern "C" __global__ void heat(const float* u, float* v, int nx, int ny, float c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int p = j * nx + i;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        v[p] = u[p] + c * (u[p - 1] + u[p + 1] + u[p - nx] + u[p + nx] - 4.0f * u[p]);
    else
        v[p] = u[p];
}
