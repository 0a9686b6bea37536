// Particles on springs with walls: positions and velocities by leapfrog
//
// family: particles
// kernel: integrate
// grid: 3
// block: 50
// launches: 3
// args: float[150,2] uniform; float[150,2] uniform; int 150; float 0.01

struct Vec { float x, y; };
extern "C" __global__ void integrate(Vec* pos, Vec* vel, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vec p = pos[i], v = vel[i];
    v.x -= 0.5f * dt * p.x * 4.0f; v.y -= 0.5f * dt * (p.y * 4.0f + 9.81f);
    p.x += v.x * dt; p.y += v.y * dt;
    if (p.y < -1.0f) { p.y = -2.0f - p.y; v.y = -v.y * 0.9f; }
    v.x -= 0.5f * dt * p.x * 4.0f; v.y -= 0.5f * dt * (p.y * 4.0f + 9.81f);
    pos[i] = p; vel[i] = v;
}
