// PageRank of a small graph: a step, divisions and a gather
//
// family: graph
// kernel: pagerank
// grid: 2
// block: 32
// args: int[50,4] below 50; int[50] values 4 3 7 2 5; float[50] constant 0.02; out float[50]; float 0.85

extern "C" __global__ void pagerank(const int *in, const int *degree, const float *rank, float *next, float d)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= 50) return;
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) { int u = in[v * 4 + k]; sum += rank[u] / degree[u]; }
    next[v] = (1.0f - d) / 50 + d * sum;
}
