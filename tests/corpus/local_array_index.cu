// Local arrays with indices known at run time
//
// family: control flow
// kernel: localArrays
// grid: 1
// block: 64
// args: int[64,12] below 12; out int[64]; out float[64]

extern "C" __global__ void localArrays(const int *x, int *modes, float *medians)
{
    int count[12] = {0};
    float sorted[12];
    for (int k = 0; k < 12; k++) {
        int v = x[threadIdx.x * 12 + k];
        count[v]++;
        int j = k;
        while (j > 0 && sorted[j - 1] > v) { sorted[j] = sorted[j - 1]; j--; }
        sorted[j] = v;
    }
    int best = 0;
    for (int k = 1; k < 12; k++) if (count[k] > count[best]) best = k;
    modes[threadIdx.x] = best;
    medians[threadIdx.x] = 0.5f * (sorted[5] + sorted[6]);
}
