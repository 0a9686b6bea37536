// Triangles of a graph given as bit rows, a pair of vertices a thread
//
// family: graph
// kernel: triangles
// grid: 3 3
// block: 16 16
// args: uint[40,2] bits; int[1] zeros; out int[40]; int 40
extern "C" __global__ void triangles(const uint2 *adj, int *total, int *degree, int n)
{
    int u = blockIdx.y * blockDim.y + threadIdx.y, v = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int local;
    if (!threadIdx.x && !threadIdx.y) local = 0;
    __syncthreads();
    auto edge = [&](int a, int b) -> bool {
        if (a > b) { int t = a; a = b; b = t; }
        return a != b && ((b < 32 ? adj[a].x >> b : adj[a].y >> (b - 32)) & 1);
    };
    if (u < v && v < n && edge(u, v)) {
        int c = 0;
        for (int w = v + 1; w < n; ++w) c += edge(u, w) && edge(v, w);
        if (c) atomicAdd(&local, c);
    }
    if (v == 0 && u < n) {
        int d = 0;
        for (int w = 0; w < n; ++w) d += edge(u, w);
        degree[u] = d;
    }
    __syncthreads();
    if (!threadIdx.x && !threadIdx.y && local) atomicAdd(total, local);
}
