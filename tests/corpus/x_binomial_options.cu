// Binomial options, a block an option, backwards through shared memory
//
// family: finance
// kernel: binomial
// grid: 5
// block: 64
// args: float[5] uniform 80 120; float[5] uniform 80 120; float[5] uniform 0.2 1; out float[5]; float 0.05; float 0.3
// approximate: 1e-5 relative
#define STEPS 60
extern "C" __global__ void binomial(const float *S, const float *X, const float *T, float *price, float r, float v)
{
    __shared__ float call[STEPS + 4];
    const int o = blockIdx.x, t = threadIdx.x;
    const float dt = T[o] / STEPS, vdt = v * sqrtf(dt), up = expf(vdt), down = 1.0f / up;
    const float growth = expf(r * dt), pu = (growth - down) / (up - down);
    const float puDf = pu / growth, pdDf = (1.0f - pu) / growth;
    if (t <= STEPS) call[t] = fmaxf(S[o] * expf(vdt * (2.0f * t - STEPS)) - X[o], 0.0f);
    __syncthreads();
    for (int i = STEPS; i > 0; i--) {
        float value = t < i ? puDf * call[t + 1] + pdDf * call[t] : 0.0f;
        __syncthreads();
        if (t < i) call[t] = value;
        __syncthreads();
    }
    if (t == 0) price[o] = call[0];
}
