// Heat in 1D, many steps of one block in shared memory
//
// family: stencil
// kernel: diffuse
// grid: 1
// block: 100
// args: double[100] uniform 0 1; int 20; double 0.25

extern "C" __global__ void diffuse(double *u, int steps, double r)
{
    __shared__ double a[102];
    int i = threadIdx.x + 1;
    a[i] = u[i - 1];
    if (i == 1) { a[0] = 1.0; a[101] = 0.0; }
    for (int s = 0; s < steps; s++) {
        __syncthreads();
        double next = a[i] + r * (a[i + 1] - 2.0 * a[i] + a[i - 1]);
        __syncthreads();
        a[i] = next;
    }
    u[i - 1] = a[i];
}
