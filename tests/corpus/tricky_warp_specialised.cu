// Correct: each warp waits at its own named barrier
//
// family: correct but suspicious
// kernel: teams
// grid: 1
// block: 128
// args: int[128] iota; out int[128]

extern "C" __global__ void teams(const int *x, int *y)
{
    __shared__ int s[128];
    int t = threadIdx.x, team = t / 64;
    s[t] = x[t] * 3;
    asm volatile("bar.sync %0, %1;" :: "r"(team + 1), "r"(64) : "memory");
    y[t] = s[team * 64 + 63 - (t & 63)];
}
