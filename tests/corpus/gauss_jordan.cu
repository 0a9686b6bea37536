// Inverse by Gauss-Jordan with partial pivoting, in one block
//
// family: linear algebra
// kernel: invert
// grid: 1
// block: 12 24
// args: float[12,12] uniform; out float[12,12]

extern "C" __global__ void invert(const float* A, float* inverse)
{
    const int n = 12;
    __shared__ float m[n][2 * n];
    __shared__ int pivot;
    int r = threadIdx.x, c = threadIdx.y;
    m[r][c] = c < n ? A[r * n + c] : (float)(c - n == r);
    __syncthreads();
    for (int k = 0; k < n; k++) {
        if (r == 0 && c == 0) {
            pivot = k;
            for (int i = k + 1; i < n; i++) if (fabsf(m[i][k]) > fabsf(m[pivot][k])) pivot = i;
        }
        __syncthreads();
        if (r == k && pivot != k) { float t = m[k][c]; m[k][c] = m[pivot][c]; m[pivot][c] = t; }
        __syncthreads();
        float p = m[k][k], f = m[r][k], top = m[k][c];
        __syncthreads();
        m[r][c] = r == k ? top / p : m[r][c] - f * (top / p);
        __syncthreads();
    }
    if (c >= n) inverse[r * n + c - n] = m[r][c];
}
