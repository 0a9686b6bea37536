// __syncwarp by a lane that its own mask does not name
//
// family: planted
// kernel: exchange
// grid: 1
// block: 32
// planted: barrier, race
// args: int[32] iota; out int[32]

extern "C" __global__ void exchange(const int *x, int *y)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp(0x0000ffff); // fault
    y[t] = s[31 - t]; // fault
}
