"""Modules that CuTe DSL made, as kernels of the corpus: `python -m tests.corpus.made_cute`.

Needs nvidia-cutlass-dsl, which compiles them without a GPU, and writes `NAME.ptx` for each kernel
below. What a GPU makes of them is recorded as for the others.
"""

# No `annotations` from __future__: CuTe DSL reads the types of parameters.

import os
import re
import tempfile
from pathlib import Path

MADE_HERE = tempfile.TemporaryDirectory()  # read when CuTe DSL is imported, as the others are
os.environ |= {"CUTE_DSL_DUMP_DIR": MADE_HERE.name, "CUTE_DSL_KEEP": "ptx"}
os.environ |= {"CUTE_DSL_ARCH": "sm_90", "CUTE_DSL_LINEINFO": "1"}

import cutlass  # noqa: E402
from cutlass import Float16, Float32, cute, memory  # noqa: E402
from cutlass.cute import nvgpu  # noqa: E402
from cutlass.cute.runtime import make_fake_compact_tensor  # noqa: E402

from . import write_module  # noqa: E402

HALF_TILE, PITCH = (32, 16), 24  # elements of a row of the half tile with its padding


@cute.kernel
def transpose(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    layout = cute.make_layout((32, 32), stride=(33, 1))
    tile = memory.SmemAllocator().allocate_tensor(Float32, layout, 16)
    for i in cutlass.range_constexpr(8):
        row = t // 32 + 4 * i
        tile[row, t % 32] = x[by * 32 + row, bx * 32 + t % 32]
    cute.arch.barrier()
    for i in cutlass.range_constexpr(8):
        row = t // 32 + 4 * i
        y[bx * 32 + row, by * 32 + t % 32] = tile[t % 32, row]


@cute.kernel
def row_sums(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row, lane = block * 4 + t // 32, t % 32
    total = Float32(0.0)
    for j in cutlass.range(lane, 200, 32):
        total += x[row, j]
    for i in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, 16 >> i)
    if lane == 0:
        y[row] = total


@cute.kernel
def product(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor, tiled: cute.TiledMma):
    """Float32, tiles of 32 x 32 x 8 in shared memory, 4 x 4 sums a thread."""
    t, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    of_a, of_b = cute.local_tile(A, (32, 8), (by, None)), cute.local_tile(B, (32, 8), (bx, None))
    shared, layout = memory.SmemAllocator(), cute.make_layout((32, 8), stride=(1, 36))
    a, b = (shared.allocate_tensor(Float32, layout, 16) for _ in range(2))
    thread = tiled.get_slice(t)
    c = thread.partition_C(cute.local_tile(C, (32, 32), (by, bx)))
    total = tiled.make_fragment_C(c)
    total.fill(0.0)
    mine_a, mine_b = thread.partition_A(a), thread.partition_B(b)
    x, y = tiled.make_fragment_A(mine_a), tiled.make_fragment_B(mine_b)
    for k in range(cute.size(of_a, mode=[2])):
        for i in cutlass.range_constexpr(4):
            row, col = (t + 64 * i) // 8, t % 8
            a[row, col] = of_a[row, col, k]
            b[row, col] = of_b[row, col, k]
        cute.arch.barrier()
        cute.autovec_copy(mine_a, x)
        cute.autovec_copy(mine_b, y)
        cute.gemm(tiled, total, x, y, total)
        cute.arch.barrier()
    cute.autovec_copy(total, c)


@cute.kernel
def tensor_cores(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor, tiled: cute.TiledMma):
    """Float16 by cp.async, ldmatrix and mma, tiles of 32 x 32 x 16."""
    t, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    of_a = cute.local_tile(A, HALF_TILE, (by, None))
    of_b = cute.local_tile(B, HALF_TILE, (bx, None))
    shared, layout = memory.SmemAllocator(), cute.make_layout(HALF_TILE, stride=(PITCH, 1))
    a, b = (shared.allocate_tensor(Float16, layout, 16) for _ in range(2))
    atom = cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    threads = cute.make_layout((32, 2), stride=(2, 1))
    copies = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    load = cute.make_copy_atom(nvgpu.warp.LdMatrix8x8x16bOp(False, 4), Float16)
    load_a, load_b = cute.make_tiled_copy_A(load, tiled), cute.make_tiled_copy_B(load, tiled)
    copy, thread = copies.get_slice(t), tiled.get_slice(t)
    c = thread.partition_C(cute.local_tile(C, (32, 32), (by, bx)))
    total = tiled.make_fragment_C(c)
    total.fill(0.0)
    x = tiled.make_fragment_A(thread.partition_A(a))
    y = tiled.make_fragment_B(thread.partition_B(b))
    from_a, from_b = load_a.get_slice(t), load_b.get_slice(t)
    for k in range(cute.size(of_a, mode=[2])):
        cute.copy(copies, copy.partition_S(of_a[None, None, k]), copy.partition_D(a))
        cute.copy(copies, copy.partition_S(of_b[None, None, k]), copy.partition_D(b))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.barrier()
        cute.copy(load_a, from_a.partition_S(a), from_a.retile(x))
        cute.copy(load_b, from_b.partition_S(b), from_b.retile(y))
        cute.gemm(tiled, total, x, y, total)
        cute.arch.barrier()
    cute.autovec_copy(total, c)


@cute.jit
def launch_transpose(x: cute.Tensor, y: cute.Tensor):
    transpose(x, y).launch(grid=[3, 2, 1], block=[128, 1, 1])


@cute.jit
def launch_row_sums(x: cute.Tensor, y: cute.Tensor):
    row_sums(x, y).launch(grid=[3, 1, 1], block=[128, 1, 1])


@cute.jit
def launch_product(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor):
    threads = cute.make_layout((8, 8, 1), stride=(8, 1, 0))
    tiled = cute.make_tiled_mma(nvgpu.MmaUniversalOp(Float32), threads)
    product(A, B, C, tiled).launch(grid=[2, 3, 1], block=[64, 1, 1])


@cute.jit
def launch_tensor_cores(A: cute.Tensor, B: cute.Tensor, C: cute.Tensor):
    mma = nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    warps = cute.make_layout((2, 1, 1))
    tiled = cute.make_tiled_mma(mma, warps, permutation_mnk=(32, 16, 16))
    tensor_cores(A, B, C, tiled).launch(grid=[2, 3, 1], block=[64, 1, 1])


TYPES = {"float": Float32, "half": Float16}
MADE = [  # the host function, title, arguments, other directives
    (
        launch_transpose,
        "A transpose through a padded tile of shared memory",
        "float[64,96] uniform; out float[96,64]",
        {"grid": "3 2", "block": 128, "dynamic shared": 4 * 32 * 33},
    ),
    (
        launch_row_sums,
        "Sums of rows, a warp for each",
        "float[12,200] uniform; out float[12]",
        {"grid": 3, "block": 128},
    ),
    (
        launch_product,
        "A product of float32 by a tiled MMA of single multiply-adds",
        "float[96,48] uniform; float[64,48] uniform; out float[96,64]",
        {"grid": "2 3", "block": 64, "dynamic shared": 2 * 4 * 36 * 8},
    ),
    (
        launch_tensor_cores,
        "A product of float16 by cp.async, ldmatrix and mma",
        "half[96,48] uniform; half[64,48] uniform; out float[96,64]",
        {"grid": "2 3", "block": 64, "dynamic shared": 2 * 2 * 32 * PITCH},
    ),
]


def tensors(args: str) -> list:
    """What stands for the arrays of a case while its kernel is compiled, row after row."""
    found = []
    for kind, shape in re.findall(r"(\w+)\[([\d,]+)\]", args):
        sizes = tuple(map(int, shape.split(",")))
        order = tuple(reversed(range(len(sizes))))
        found.append(
            make_fake_compact_tensor(TYPES[kind], sizes, stride_order=order, assumed_align=16)
        )
    return found


def main() -> None:
    for host, title, args, said in MADE:
        name = host.__name__.removeprefix("launch_")
        cute.compile(host, *tensors(args))
        (path,) = Path(MADE_HERE.name).glob(f"*{host.__name__}*.ptx")
        ptx = path.read_text(encoding="utf-8").rstrip("\0")
        entry = re.search(r"\.entry (\w+)", ptx)[1]
        head = {"family": "CuTe DSL", "kernel": name, **said, "args": args}
        write_module(f"cu_{name}", title, head, ptx.replace(entry, name))


if __name__ == "__main__":
    main()
