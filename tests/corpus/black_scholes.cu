// Black and Scholes: prices of options
//
// family: finance
// kernel: blackScholes
// grid: 2
// block: 64
// approximate: 2e-5 absolute
// args: float[100] uniform 5 30; float[100] uniform 1 40; float[100] uniform 0.25 5; out float[100]; out float[100]; int 100

__device__ float cnd(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
    float K = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040f * expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    return d > 0 ? 1.0f - c : c;
}
extern "C" __global__ void blackScholes(const float *S, const float *X, const float *T, float *call, float *put, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float R = 0.02f, V = 0.30f, sq = sqrtf(T[i]);
    float d1 = (logf(S[i] / X[i]) + (R + 0.5f * V * V) * T[i]) / (V * sq), d2 = d1 - V * sq;
    float e = expf(-R * T[i]);
    call[i] = S[i] * cnd(d1) - X[i] * e * cnd(d2);
    put[i] = X[i] * e * (1.0f - cnd(d2)) - S[i] * (1.0f - cnd(d1));
}
