// Xorwow generators whose state is kept from launch to launch
//
// family: random
// kernel: xorwow
// grid: 2
// block: 32
// args: uint[6,50] bits; out uint[5,50]; out float[5,50]; int 50
// launches: 2
struct State { unsigned d, v[5]; };
__device__ unsigned next(State *s)
{
    unsigned t = s->v[0] ^ (s->v[0] >> 2);
    s->v[0] = s->v[1]; s->v[1] = s->v[2]; s->v[2] = s->v[3]; s->v[3] = s->v[4];
    s->v[4] = (s->v[4] ^ (s->v[4] << 4)) ^ (t ^ (t << 1));
    s->d += 362437;
    return s->v[4] + s->d;
}
extern "C" __global__ void xorwow(unsigned *states, unsigned *ints, float *floats, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    State s;
    s.d = states[5 * n + i];
    for (int k = 0; k < 5; ++k) s.v[k] = states[k * n + i];
    for (int k = 0; k < 5; ++k) {
        ints[k * n + i] = next(&s);
        floats[k * n + i] = next(&s) * 2.3283064e-10f + (2.3283064e-10f / 2.0f);
    }
    states[5 * n + i] = s.d;
    for (int k = 0; k < 5; ++k) states[k * n + i] = s.v[k];
}
