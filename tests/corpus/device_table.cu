// __device__ and __constant__ arrays with initialisers, of structs and doubles too
//
// family: device variables
// kernel: lookup
// grid: 1
// block: 48
// launches: 2
// args: out double[48]; out int[48]

struct Planet { double mass; int moons; float radius; };
__device__ const Planet planets[] = {{0.33, 0, 2439.7f}, {4.87, 0, 6051.8f}, {5.97, 1, 6378.1f}, {0.642, 2, 3396.f}};
__constant__ short steps[2][3] = {{1, 2, 3}, {-1, -2, -3}};
__device__ int memory[48];
extern "C" __global__ void lookup(double *d, int *n)
{
    int t = threadIdx.x;
    const Planet &p = planets[t % 4];
    d[t] = p.mass * p.radius;
    memory[t] += steps[t & 1][t % 3];
    n[t] = p.moons * 100 + memory[t];
}
