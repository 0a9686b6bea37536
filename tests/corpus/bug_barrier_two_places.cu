// Two barriers in the two arms of a branch, in the same warp
//
// family: planted
// kernel: arms
// grid: 1
// block: 32
// planted: barrier
// args: out int[32]

extern "C" __global__ void arms(int *y)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = t;
        __syncthreads(); // fault
        y[t] = s[t];
    } else {
        s[t] = 2 * t;
        __syncthreads(); // fault
        y[t] = s[t] + 1;
    }
}
