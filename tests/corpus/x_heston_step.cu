// Euler steps of the Heston model, full truncation, normals given
//
// family: finance
// kernel: heston
// grid: 2
// block: 50
// args: float[100,8,2] uniform -2 2; out float[100]; out float[100]; int 100; int 8; bytes 0000c842cdcccc3d0000c03f0ad7233d9a99993e333333bf
// approximate: 1e-5 relative
struct Params { float s0, dt, kappa, theta, xi, rho; };
extern "C" __global__ void heston(const float2 *z, float *S, float *V, int paths, int steps, const Params p)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= paths) return;
    float s = p.s0, v = p.theta, rc = sqrtf(1 - p.rho * p.rho), sdt = sqrtf(p.dt);
    for (int k = 0; k < steps; k++) {
        float2 g = z[i * steps + k];
        float w = p.rho * g.x + rc * g.y, vp = v > 0 ? v : 0, sv = sqrtf(vp) * sdt;
        s *= expf(-0.5f * vp * p.dt + sv * g.x);
        v += p.kappa * (p.theta - vp) * p.dt + p.xi * sv * w;
    }
    S[i] = s;
    V[i] = v;
}
