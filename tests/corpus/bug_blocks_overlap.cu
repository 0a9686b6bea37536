// Neighbouring blocks write the same elements with different values
//
// family: planted
// kernel: overlap
// grid: 3
// block: 64
// planted: race
// args: out int[190]

extern "C" __global__ void overlap(int *y)
{
    int i = blockIdx.x * 62 + threadIdx.x;
    y[i] = blockIdx.x; // fault
}
