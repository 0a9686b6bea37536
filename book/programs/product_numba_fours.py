"""product_numba.py with shared arrays in the shape in which threads take them: not timed yet."""

from numba import cuda, float32

BK = 8


@cuda.jit
def product(A, B, C):
    # 128 columns as 2 x 16 x 4: a thread has fours, and no index that could be negative
    a = cuda.shared.array((BK, 2, 17, 4), float32, alignment=16)
    b = cuda.shared.array((BK, 2, 16, 4), float32, alignment=16)
    x, y = cuda.local.array((2, 4), float32), cuda.local.array((2, 4), float32)
    total = cuda.local.array((2, 4, 2, 4), float32)
    t, m, n = cuda.threadIdx.x, cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
    i, j = t // 16, t % 16
    for p in range(2):
        for q in range(4):
            for r in range(2):
                for s in range(4):
                    total[p, q, r, s] = 0
    for k in range(0, A.shape[1], BK):
        for p in range(BK // 2):
            row, col = (t + 256 * p) // BK, t % 128
            a[t % BK, row // 64, row // 4 % 16, row % 4] = A[m + row, k + t % BK]
            row = t // 128 + 2 * p
            b[row, col // 64, col // 4 % 16, col % 4] = B[k + row, n + col]
        cuda.syncthreads()
        for d in range(BK):
            for p in range(2):
                for q in range(4):
                    x[p, q], y[p, q] = a[d, p, i, q], b[d, p, j, q]
            for p in range(2):
                for q in range(4):
                    for r in range(2):
                        for s in range(4):
                            total[p, q, r, s] += x[p, q] * y[r, s]
        cuda.syncthreads()
    for p in range(2):
        for q in range(4):
            for r in range(2):
                for s in range(4):
                    C[m + 64 * p + 4 * i + q, n + 64 * r + 4 * j + s] = total[p, q, r, s]
