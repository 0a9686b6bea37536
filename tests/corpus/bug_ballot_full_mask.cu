// A vote with the full mask where some lanes have returned into another branch
//
// family: planted
// kernel: vote
// grid: 1
// block: 64
// planted: barrier
// args: int[64] below 10; out uint[64]

extern "C" __global__ void vote(const int *x, unsigned *y)
{
    int t = threadIdx.x;
    if (x[t] > 4)
        y[t] = __ballot_sync(0xffffffffu, x[t] > 7); // fault
    else
        y[t] = 0;
}
