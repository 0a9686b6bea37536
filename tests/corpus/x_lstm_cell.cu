// An LSTM cell, a hidden unit a thread, double precision sigmoid
//
// family: machine learning
// kernel: lstm
// grid: 3
// block: 10
// args: float[3,6] uniform; float[3,10] uniform; float[3,10] uniform; float[40,16] uniform; float[40] uniform; out float[3,10]; out float[3,10]
// approximate: 1e-5 relative
#define IN 6
#define HID 10
__device__ float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }
extern "C" __global__ void lstm(const float *x, const float *h, const float *c, const float *W, const float *b, float *h2, float *c2)
{
    int u = threadIdx.x, s = blockIdx.x;
    float g[4];
    for (int k = 0; k < 4; ++k) {
        const float *w = W + (k * HID + u) * (IN + HID);
        float acc = b[k * HID + u];
        int j = 0;
        for (; j < IN; ++j) acc += w[j] * x[s * IN + j];
        for (; j < IN + HID; ++j) acc += w[j] * h[s * HID + j - IN];
        g[k] = k == 2 ? tanhf(acc) : sigmoid(acc);
    }
    float cn = g[1] * c[s * HID + u] + g[0] * g[2];
    c2[s * HID + u] = cn;
    h2[s * HID + u] = g[3] * tanh(cn);
}
