"""C = A B in Numba: what CUDA C++ would do, thread by thread; 256 threads, 8 x 8 sums each."""

from numba import cuda, float32

BM = BN = 128
BK, PITCH = 8, BM + 4


@cuda.jit
def product(A, B, C):
    a = cuda.shared.array((BK, PITCH), float32)
    b = cuda.shared.array((BK, BN), float32)
    x, y = cuda.local.array(8, float32), cuda.local.array(8, float32)
    total = cuda.local.array((8, 8), float32)
    t, m, n = cuda.threadIdx.x, cuda.blockIdx.y * BM, cuda.blockIdx.x * BN
    for p in range(8):
        for q in range(8):
            total[p, q] = 0
    for k in range(0, A.shape[1], BK):
        for p in range(BK // 2):
            at = t + 256 * p
            a[at % BK, at // BK] = A[m + at // BK, k + at % BK]
            b[at // BN, at % BN] = B[k + at // BN, n + at % BN]
        cuda.syncthreads()
        for s in range(BK):
            for p in range(8):
                x[p] = a[s, t // 16 + 16 * p]
                y[p] = b[s, t % 16 + 16 * p]
            for p in range(8):
                for q in range(8):
                    total[p, q] += x[p] * y[q]
        cuda.syncthreads()
    for p in range(8):
        for q in range(8):
            C[m + t // 16 + 16 * p, n + t % 16 + 16 * q] = total[p, q]
