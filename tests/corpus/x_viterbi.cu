// Viterbi over 7 states in log space with the path traced back
//
// family: dynamic programming
// kernel: viterbi
// grid: 6
// block: 7
// args: float[7,7] uniform -5 0; float[7,4] uniform -5 0; int[6,20] below 4; out int[6,20]; out float[6]
#define S 7
#define T 20
extern "C" __global__ void viterbi(const float trans[S][S], const float emit[S][4], const int *obs, int *path, float *prob)
{
    __shared__ float p[2][S];
    __shared__ unsigned char back[T][S];
    int s = threadIdx.x;
    obs += blockIdx.x * T;
    p[0][s] = emit[s][obs[0]];
    __syncthreads();
    for (int t = 1; t < T; t++) {
        float best = -1e30f;
        int from = 0;
        for (int r = 0; r < S; r++) {
            float v = p[(t - 1) & 1][r] + trans[r][s];
            if (v > best) { best = v; from = r; }
        }
        p[t & 1][s] = best + emit[s][obs[t]];
        back[t][s] = from;
        __syncthreads();
    }
    if (s == 0) {
        int last = 0;
        for (int r = 1; r < S; r++) if (p[(T - 1) & 1][r] > p[(T - 1) & 1][last]) last = r;
        prob[blockIdx.x] = p[(T - 1) & 1][last];
        for (int t = T - 1; t >= 0; t--) {
            path[blockIdx.x * T + t] = last;
            if (t) last = back[t][last];
        }
    }
}
