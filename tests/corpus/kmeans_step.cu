// A step of k-means: nearest centre, counts by shared atomics
//
// family: machine learning
// kernel: assign
// grid: 3
// block: 64
// args: float[150,2] uniform; float[5,2] uniform; int 150; out int[150]; int[5] zeros

extern "C" __global__ void assign(const float2 *p, const float2 *c, int n, int *label, int *count)
{
    __shared__ int mine[5];
    if (threadIdx.x < 5) mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float best = 1e30f; int k = -1;
        for (int j = 0; j < 5; j++) {
            float dx = p[i].x - c[j].x, dy = p[i].y - c[j].y, d = dx * dx + dy * dy;
            if (d < best) { best = d; k = j; }
        }
        label[i] = k;
        atomicAdd(&mine[k], 1);
    }
    __syncthreads();
    if (threadIdx.x < 5) atomicAdd(&count[threadIdx.x], mine[threadIdx.x]);
}
