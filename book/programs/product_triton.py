"""C = A B in Triton: tl.dot multiplies tiles, in the precision that it is told."""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            PRECISION: tl.constexpr):  # fmt: skip
    group = 8 * tl.cdiv(N, BN)  # programs of eight rows of tiles run together
    first = tl.program_id(0) // group * 8
    rows = min(8, tl.cdiv(M, BM) - first)
    m = first + tl.program_id(0) % group % rows
    n = tl.program_id(0) % group // rows
    i, j, k = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    at_a, at_b = a + i[:, None] * K + k, b + k[:, None] * N + j
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total, input_precision=PRECISION)
        at_a += BK
        at_b += BK * N
    tl.store(c + i[:, None] * N + j, total)
