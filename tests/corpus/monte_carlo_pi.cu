// Monte Carlo estimate of pi, hits by integer atomics
//
// family: Monte Carlo
// kernel: pi
// grid: 4
// block: 96
// args: uint[1] zeros; int 30; uint 99

extern "C" __global__ void pi(unsigned *hits, int trials, unsigned seed)
{
    unsigned s = seed + 747796405u * (blockIdx.x * blockDim.x + threadIdx.x + 1), mine = 0;
    for (int k = 0; k < trials; ++k) {
        s = s * 1664525u + 1013904223u;
        float x = (s >> 8) * (1.0f / 16777216.0f);
        s = s * 1664525u + 1013904223u;
        float y = (s >> 8) * (1.0f / 16777216.0f);
        if (x * x + y * y <= 1.0f) mine++;
    }
    atomicAdd(hits, mine);
}
