// Cross entropy and its gradient, a warp a row, labels to be ignored
//
// family: machine learning
// kernel: xent
// grid: 3
// block: 32 4
// args: float[10,45] uniform -6 6; long[10] below 50; out float[10]; out float[10,45]; int 10; int 45
// approximate: 1e-5 absolute
template <typename T> __device__ T warp_max(T v) { for (int o = 16; o; o /= 2) v = max(v, __shfl_xor_sync(~0, v, o)); return v; }
template <typename T> __device__ T warp_sum(T v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0, v, o); return v; }

extern "C" __global__ void xent(const float *logits, const long long *labels, float *loss, float *grad, int rows, int classes)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;                    // whole warps
    const float *x = logits + row * classes;
    long long label = labels[row];
    if (label >= classes) {
        for (int c = lane; c < classes; c += 32) grad[row * classes + c] = 0.f;
        if (lane == 0) loss[row] = 0.f;
        return;
    }
    float m = -1e30f, s = 0.f;
    for (int c = lane; c < classes; c += 32) m = fmaxf(m, x[c]);
    m = warp_max(m);
    for (int c = lane; c < classes; c += 32) s += expf(x[c] - m);
    s = warp_sum(s);
    for (int c = lane; c < classes; c += 32)
        grad[row * classes + c] = expf(x[c] - m) / s - (c == label);
    if (lane == 0) loss[row] = logf(s) + m - x[label];
}
