// k nearest neighbours, a sorted list of four in registers by insertion
//
// family: machine learning
// kernel: knn
// grid: 3
// block: 32
// args: float[83,3] uniform; float[120,3] uniform; out int[83,4]; out float[83,4]; int 83; int 120
#define K 4
extern "C" __global__ void knn(const float3 *query, const float3 *points, int *index, float *dist, int nq, int np)
{
    __shared__ float3 tile[32];
    int q = blockIdx.x * 32 + threadIdx.x;
    float3 me = q < nq ? query[q] : make_float3(0, 0, 0);
    float best[K];
    int who[K];
    #pragma unroll
    for (int k = 0; k < K; k++) { best[k] = 3.4e38f; who[k] = -1; }
    for (int base = 0; base < np; base += 32) {
        if (base + threadIdx.x < np) tile[threadIdx.x] = points[base + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 32 && base + j < np; j++) {
            float dx = me.x - tile[j].x, dy = me.y - tile[j].y, dz = me.z - tile[j].z;
            float d = dx * dx + dy * dy + dz * dz;
            int id = base + j;
            if (d >= best[K - 1]) continue;
            #pragma unroll
            for (int k = 0; k < K; k++)
                if (d < best[k]) {
                    float td = best[k]; best[k] = d; d = td;
                    int ti = who[k]; who[k] = id; id = ti;
                }
        }
        __syncthreads();
    }
    if (q < nq)
        for (int k = 0; k < K; k++) { index[q * K + k] = who[k]; dist[q * K + k] = best[k]; }
}
