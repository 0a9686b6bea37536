"""C = A B in CuTe DSL: layouts say which thread copies and multiplies what; cp.async, FMAs."""

import cutlass
from cutlass import Constexpr, Float32, cute, memory
from cutlass.cute import nvgpu


@cute.kernel
def kernel(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor, fma: cute.TiledMma,
           copy_a: cute.TiledCopy, copy_b: cute.TiledCopy,
           BM: Constexpr, BN: Constexpr, BK: Constexpr, STAGES: Constexpr):  # fmt: skip
    t, _, _ = cute.arch.thread_idx()
    n, m, _ = cute.arch.block_idx()
    tiles_a = cute.local_tile(A, (BM, BK), (m, None))
    tiles_b = cute.local_tile(B, (BN, BK), (n, None))
    shared = memory.SmemAllocator()
    padded = cute.make_layout((BM, BK, STAGES), stride=(1, BM + 4, (BM + 4) * BK))
    a = shared.allocate_tensor(Float32, padded, 16)
    b = shared.allocate_tensor(Float32, cute.make_layout((BN, BK, STAGES)), 16)
    mine_a, mine_b, thread = copy_a.get_slice(t), copy_b.get_slice(t), fma.get_slice(t)
    from_a, to_a = mine_a.partition_S(tiles_a), mine_a.partition_D(a)
    from_b, to_b = mine_b.partition_S(tiles_b), mine_b.partition_D(b)
    read_a, read_b = thread.partition_A(a), thread.partition_B(b)
    c = thread.partition_C(cute.local_tile(C, (BM, BN), (m, n)))
    x = fma.make_fragment_A(read_a[None, None, None, 0])
    y = fma.make_fragment_B(read_b[None, None, None, 0])
    total = fma.make_fragment_C(c)
    total.fill(0.0)
    for k in cutlass.range_constexpr(STAGES - 1):
        cute.copy(copy_a, from_a[None, None, None, k], to_a[None, None, None, k])
        cute.copy(copy_b, from_b[None, None, None, k], to_b[None, None, None, k])
        cute.arch.cp_async_commit_group()
    for k in range(tiles_a.shape[2]):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.barrier()
        ahead, stage = k + STAGES - 1, k % STAGES
        if ahead < tiles_a.shape[2]:
            to = ahead % STAGES
            cute.copy(copy_a, from_a[None, None, None, ahead], to_a[None, None, None, to])
            cute.copy(copy_b, from_b[None, None, None, ahead], to_b[None, None, None, to])
        cute.arch.cp_async_commit_group()
        cute.autovec_copy(read_a[None, None, None, stage], x)
        cute.autovec_copy(read_b[None, None, None, stage], y)
        cute.gemm(fma, total, x, y, total)
    cute.autovec_copy(total, c)


@cute.jit
def product(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor,
            BM: Constexpr, BN: Constexpr, BK: Constexpr, STAGES: Constexpr,
            WARPS: Constexpr):  # fmt: skip
    if cutlass.const_expr(WARPS):  # of 4 x 8 threads: not timed yet
        strides = ((1, 16, 64), (2, 32), 0)
        threads = cute.make_layout(((2, 2, 4), (8, 2), 1), stride=strides)
    else:
        threads = cute.make_layout((16, 16, 1))
    fours = cute.make_layout((16, 4), stride=(4, 1))
    fma = cute.make_tiled_mma(nvgpu.MmaUniversalOp(Float32), threads, (fours, fours, None))
    word, line = (
        cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=bits)
        for bits in (32, 128)
    )
    by_k, by_n = cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((32, 8))
    copy_a = cute.make_tiled_copy_tv(word, by_k, cute.make_layout((1, 1)))
    copy_b = cute.make_tiled_copy_tv(line, by_n, cute.make_layout((4, 1)))
    grid = (C.shape[1] // BN, C.shape[0] // BM, 1)
    kernel(A, B, C, fma, copy_a, copy_b, BM, BN, BK, STAGES).launch(grid=grid, block=(256, 1, 1))
