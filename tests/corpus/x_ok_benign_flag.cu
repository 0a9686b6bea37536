// Many threads set one flag with an atomic, and each reads its own byte before a barrier
//
// family: tempting
// kernel: anySeven
// grid: 1
// block: 96
// args: int[96] below 20; out int[2]; out uchar[96]
extern "C" __global__ void anySeven(const int *x, int *found, bool *mine)
{
    __shared__ unsigned char hit[96];
    __shared__ int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    hit[t] = x[t] == 7;
    if (hit[t]) atomicOr(&flag, 1);
    __syncthreads();
    mine[t] = hit[t] || (flag && t == 0);
    if (t == 0) { found[0] = flag; found[1] = hit[95]; }
}
