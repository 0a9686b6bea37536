// QR of small matrices by Givens rotations, one matrix a thread, in local arrays
//
// family: linear algebra
// kernel: givens<4>
// grid: 1
// block: 40
// args: float[37,16] uniform; out float[37,16]; out float[37,16]; int 37
template <int N>
__global__ void givens(const float* A, float* Q, float* R, int batch)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch) return;
    float r[N][N], q[N][N];
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            r[i][j] = A[(m * N + i) * N + j];
            q[i][j] = i == j;
        }
    for (int j = 0; j < N - 1; ++j)
        for (int i = N - 1; i > j; --i) {
            float a = r[i - 1][j], b = r[i][j];
            if (b == 0.0f) continue;
            float h = sqrtf(a * a + b * b), c = a / h, s = b / h;
            for (int k = 0; k < N; ++k) {
                float u = r[i - 1][k], v = r[i][k];
                r[i - 1][k] = c * u + s * v;
                r[i][k] = c * v - s * u;
                u = q[k][i - 1]; v = q[k][i];
                q[k][i - 1] = c * u + s * v;
                q[k][i] = c * v - s * u;
            }
        }
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            Q[(m * N + i) * N + j] = q[i][j];
            R[(m * N + i) * N + j] = r[i][j];
        }
}
