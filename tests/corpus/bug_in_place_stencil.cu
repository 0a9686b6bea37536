// A stencil in place: neighbours are read while they are written
//
// family: planted
// kernel: smooth
// grid: 1
// block: 128
// planted: race
// args: float[130] uniform

extern "C" __global__ void smooth(float *u)
{
    int i = threadIdx.x + 1;
    u[i] = 0.5f * (u[i - 1] + u[i + 1]); // fault
}
