"""Modules that other compilers made, as kernels of the corpus: `python -m tests.corpus.made`.

Needs Triton and numba-cuda, which compile them without a GPU, and writes `NAME.ptx` for each kernel
below. What a GPU makes of them is recorded as for the others.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import triton
import triton.language as tl
from numba import cuda, float32, int32
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from . import write_module

PTX = 86  # its version, which drivers of CUDA 12.7 and later take
MADE = {}


class Made(NamedTuple):
    function: object
    title: str
    types: str  # as Triton or Numba has them
    constants: dict
    directives: dict  # of the file: family, grid, args and others
    options: dict


def module(title, types, args, grid=4, constants=None, warps=4, **directives):
    """Note a function of triton.jit."""
    options = {"num_warps": warps}

    def note(function):
        said = {"grid": grid, "args": args, **directives}
        MADE[f"tr_{function.__name__}"] = Made(
            function, title, types, constants or {}, said, options
        )
        return function

    return note


# ------------------------------------------------------------------------------- one element each


@module(
    "A sum of two vectors, the last block in part",
    "*fp32 *fp32 *fp32 i32",
    "float[1000] uniform; float[1000] uniform; out float[1000]; int 1000",
    constants={"BLOCK": 256},
)
@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@module(
    "GELU by the error function",
    "*fp32 *fp32",
    "float[1024] uniform -4 4; out float[1024]",
    constants={"BLOCK": 256},
    approximate="3e-7 absolute",
)
@triton.jit
def gelu(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)))


@module(
    "Dropout with Philox random numbers",
    "*fp32 *fp32 fp32 i32",
    "float[1024] uniform; out float[1024]; float 0.3; int 1234",
    constants={"BLOCK": 256},
)
@triton.jit
def dropout(x, y, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > p
    tl.store(y + i, tl.where(keep, tl.load(x + i) / (1 - p), 0.0))


@module(
    "Steps of the Collatz sequence, a loop for each program until its last lane is done",
    "*i32 *i32",
    "int[512] iota; out int[512]",
    constants={"BLOCK": 128},
)
@triton.jit
def collatz(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i) + 1
    steps = tl.zeros((BLOCK,), tl.int32)
    while tl.max(v, 0) > 1:
        more = v > 1
        v = tl.where(more, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
        steps += more.to(tl.int32)
    tl.store(y + i, steps)


@module(
    "Quotients and remainders of whole numbers of both signs",
    "*i32 *i32 *i32 *i32",
    "int[512] bits; int[512] bits; out int[512]; out int[512]",
    constants={"BLOCK": 128},
)
@triton.jit
def division(x, y, q, r, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i) | 1
    tl.store(q + i, a // b)
    tl.store(r + i, a % b)


@module(
    "Rows of a table, chosen by indices",
    "*fp32 *i32 *fp32 i32",
    "float[50,96] uniform; int[40] below 50; out float[40,96]; int 96",
    grid=40,
    constants={"BLOCK": 128},
)
@triton.jit
def embedding(table, index, out, width, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at = tl.load(index + row)
    tl.store(out + row * width + i, tl.load(table + at * width + i, i < width), i < width)


@module(
    "Rotary embedding: pairs split, turned and joined again",
    "*fp32 *fp32 *fp32 *fp32",
    "float[8,128] uniform; float[64] uniform; float[64] uniform; out float[8,128]",
    grid=8,
    constants={"PAIRS": 64},
)
@triton.jit
def rope(x, cos, sin, y, PAIRS: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, PAIRS)
    v = tl.load(x + row * 2 * PAIRS + tl.arange(0, 2 * PAIRS))
    a, b = tl.split(tl.reshape(v, (PAIRS, 2)))
    c, s = tl.load(cos + i), tl.load(sin + i)
    turned = tl.interleave(a * c - b * s, a * s + b * c)
    tl.store(y + row * 2 * PAIRS + tl.arange(0, 2 * PAIRS), turned)


@module(
    "A matrix transposed through shared memory",
    "*fp32 *fp32 i32 i32",
    "float[64,96] uniform; out float[96,64]; int 64; int 96",
    grid="2 3",
    constants={"B": 32},
)
@triton.jit
def transpose(x, y, rows, columns, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(tile))


@module(
    "A convolution of a vector with seven weights",
    "*fp32 *fp32 *fp32 i32",
    "float[1000] uniform; float[7] uniform; out float[1000]; int 1000",
    constants={"BLOCK": 256},
)
@triton.jit
def convolution(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(7):
        at = i + k - 3
        total += tl.load(w + k) * tl.load(x + at, (at >= 0) & (at < n), other=0.0)
    tl.store(y + i, total, i < n)


# ------------------------------------------------------------------------- reductions and scans


@module(
    "Softmax of rows",
    "*fp32 *fp32 i32",
    "float[20,200] uniform -3 3; out float[20,200]; int 200",
    grid=20,
    constants={"BLOCK": 256},
    approximate="4 ulp",
)
@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), i < n)


@module(
    "Layer normalisation of rows, two passes over them",
    "*fp32 *fp32 *fp32 *fp32 i32",
    "float[6,500] uniform; float[500] uniform; float[500] uniform; out float[6,500]; int 500",
    grid=6,
    constants={"BLOCK": 128},
    approximate="1e-6 absolute",
)
@triton.jit
def layer_norm(x, w, b, y, n, BLOCK: tl.constexpr):
    row, lane = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        total += tl.load(x + row * n + first + lane, first + lane < n, other=0.0)
    mean = tl.sum(total, 0) / n
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        i = first + lane
        v = tl.where(i < n, tl.load(x + row * n + i, i < n, other=0.0) - mean, 0.0)
        squares += v * v
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / n + 1e-5)
    for first in range(0, n, BLOCK):
        i = first + lane
        v = (tl.load(x + row * n + i, i < n) - mean) * scale
        tl.store(y + row * n + i, v * tl.load(w + i, i < n) + tl.load(b + i, i < n), i < n)


@module(
    "Root mean square normalisation in bfloat16",
    "*bf16 *bf16 *bf16",
    "bfloat16[8,256] uniform; bfloat16[256] uniform; out bfloat16[8,256]",
    grid=8,
    constants={"N": 256},
    compare="none for 2",
)
@triton.jit
def rms_norm(x, w, y, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / N + 1e-6)
    tl.store(y + row * N + i, (v * scale * tl.load(w + i).to(tl.float32)).to(tl.bfloat16))


@module(
    "Sums of the columns of a matrix, a tile at a time",
    "*fp32 *fp32 i32",
    "float[96,128] uniform; out float[128]; int 96",
    grid=2,
    constants={"ROWS": 32, "COLUMNS": 64},
)
@triton.jit
def column_sums(x, y, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, rows, ROWS):
        r = first + tl.arange(0, ROWS)
        total += tl.load(x + r[:, None] * tl.num_programs(0) * COLUMNS + c[None, :])
    tl.store(y + c, tl.sum(total, 0))


@module(
    "The largest of each row and where it stands, ties to the left",
    "*fp32 *fp32 *i32 i32",
    "float[12,300] uniform; out float[12]; out int[12]; int 300",
    grid=12,
    constants={"BLOCK": 512},
)
@triton.jit
def arg_max(x, value, index, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, other=-float("inf"))
    best, at = tl.max(v, 0, return_indices=True)
    tl.store(value + row, best)
    tl.store(index + row, at)


@module(
    "Running sums of whole numbers",
    "*i32 *i32",
    "int[4,512] below 100; out int[4,512]",
    constants={"N": 512},
)
@triton.jit
def running_sum(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def _then(a0, b0, a1, b1):
    return a1 * a0, a1 * b0 + b1


@module(
    "A linear recurrence as an associative scan",
    "*fp32 *fp32 *fp32",
    "float[4,256] uniform; float[4,256] uniform; out float[4,256]",
    constants={"N": 256},
)
@triton.jit
def recurrence(a, b, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    _, total = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, _then)
    tl.store(y + i, total)


@module(
    "Rows sorted by a bitonic network",
    "*i32 *i32",
    "int[4,256] bits; out int[4,256]",
    constants={"N": 256},
)
@triton.jit
def sort(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.sort(tl.load(x + i)))


@module(
    "A histogram of each program, added up by atomics",
    "*i32 *i32",
    "int[2048] below 64; int[64] zeros",
    constants={"N": 512, "BINS": 64},
)
@triton.jit
def histogram(x, bins, N: tl.constexpr, BINS: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(bins + tl.arange(0, BINS), tl.histogram(v, BINS))


@module(
    "The largest of each of sixteen bins, by atomics",
    "*i32 *i32 *i32",
    "int[1024] below 16; int[1024] bits; int[16] zeros",
    constants={"N": 256},
)
@triton.jit
def atomic_max(bin, x, largest, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_max(largest + tl.load(bin + i), tl.load(x + i))


@module(
    "Programs that take turns by a lock",
    "*i32 *fp32 *fp32",
    "int[1] zeros; float[1] zeros; float[512] below 9",
    constants={"N": 128},
    counters="none",
)
@triton.jit
def lock(lock, total, x, N: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    now = tl.load(total)
    tl.debug_barrier()  # all threads load it, and one stores
    tl.store(total, now + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@module(
    "Cross entropy of rows and its gradient",
    "*fp32 *i32 *fp32 *fp32",
    "float[8,128] uniform -2 2; int[8] below 128; out float[8]; out float[8,128]",
    grid=8,
    constants={"N": 128},
    approximate="1e-6 absolute",
)
@triton.jit
def cross_entropy(x, label, loss, gradient, N: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + i)
    right = tl.load(label + row)
    most = tl.max(v, 0)
    e = tl.exp(v - most)
    total = tl.sum(e, 0)
    tl.store(loss + row, tl.log(total) + most - tl.load(x + row * N + right))
    tl.store(gradient + row * N + i, e / total - (i == right).to(tl.float32))


# ------------------------------------------------------------------------------------- products


@triton.jit
def _product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
             PRECISION: tl.constexpr, OUT: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=OUT)
    for first in range(0, K, BK):
        inside = first + k < K
        x = tl.load(pa, (m[:, None] < M) & inside[None, :], other=0)
        y = tl.load(pb, inside[:, None] & (n[None, :] < N), other=0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=OUT)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


def product(name, title, kind, element, out="float", precision="ieee", tile=(64, 64, 32), **more):
    BM, BN, BK = tile
    form = "below 100" if element == "char" else "uniform"
    MADE[f"tr_product_{name}"] = Made(
        _product,
        title,
        f"*{kind} *{kind} *{'i32' if out == 'int' else 'fp32'} i32 i32 i32",
        {"BM": BM, "BN": BN, "BK": BK, "PRECISION": precision,
         "OUT": tl.int32 if out == "int" else tl.float32},
        {"grid": f"{-(-100 // BM)} {-(-96 // BN)}", "args": f"{element}[100,80] {form}; "
         f"{element}[80,96] {form}; out {out}[100,96]; int 100; int 96; int 80", **more},
        {"num_warps": 4, "num_stages": 3},
    )  # fmt: skip


product("ieee", "A float32 product by multiply-adds", "fp32", "float", tile=(32, 32, 16))
product("tf32", "A float32 product on tensor cores, TF32", "fp32", "float", precision="tf32")
product("tf32x3", "A float32 product of three TF32 products", "fp32", "float", precision="tf32x3")
product("bf16x6", "A float32 product of six BF16 products", "fp32", "float", precision="bf16x6")
product("half", "A float16 product by wgmma, copies in three stages", "fp16", "half")
product("bfloat16", "A bfloat16 product by wgmma", "bf16", "bfloat16", tile=(64, 32, 64))
product("int8", "An int8 product on tensor cores", "i8", "char", out="int")


@module(
    "Attention with running sums, as FlashAttention has it",
    "*fp16 *fp16 *fp16 *fp32 fp32",
    "half[128,32] uniform; half[96,32] uniform; half[96,32] uniform; out float[128,32]; float 0.25",
    grid=2,
    constants={"N": 96, "D": 32, "BM": 64, "BN": 32},
    approximate="1e-3 absolute",
)
@triton.jit
def attention(q, k, v, out, scale, N: tl.constexpr, D: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + m[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    for first in range(0, N, BN):
        n = first + tl.arange(0, BN)
        keys = tl.load(k + n[None, :] * D + d[:, None])
        scores = tl.dot(queries, keys) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - new[:, None])
        old = tl.exp(most - new)
        total = total * old + tl.sum(p, 1)
        values = tl.load(v + n[:, None] * D + d[None, :])
        result = tl.dot(p.to(tl.float16), values, result * old[:, None])
        most = new
    tl.store(out + m[:, None] * D + d[None, :], result / total[:, None])


# ---------------------------------------------------------------------------------------- Numba


def saxpy(a, x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


def block_sums(x, sums):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.blockIdx.x * 128 + t]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


def bins(x, counts, n):
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(counts, x[i], 1)
        i += cuda.gridsize(1)


NUMBA = {
    "nb_saxpy": (
        saxpy, "A multiple of a vector added to another", "*f a *f *f i",
        (float32, float32[::1], float32[::1], int32),
        {"grid": "8", "block": "128"},
        "float 1.5; float[1000] uniform; float[1000] uniform; int 1000",
    ),
    "nb_block_sums": (
        block_sums, "Sums of blocks, a tree in shared memory", "", (float32[::1], float32[::1]),
        {"grid": "8", "block": "128"},
        "float[1024] uniform; out float[8]",
    ),
    "nb_bins": (
        bins, "A histogram by atomics, in strides of the grid", "",
        (int32[::1], int32[::1], int32),
        {"grid": "4", "block": "64"},
        "int[1000] below 32; int[32] zeros; int 1000",
    ),
}  # fmt: skip


def array_arguments(text: str) -> str:
    """As Numba passes them: of an array meminfo, parent, its items, their size, data, shape and
    strides."""
    parts = []
    for one in text.split("; "):
        if match := re.match(r"(?:out )?(\w+)\[(\d+)\]", one):
            size = {"float": 4, "int": 4}[match[1]]
            parts += ["ulong 0", "ulong 0", f"long {match[2]}", f"long {size}", one]
            parts += [f"long {match[2]}", f"long {size}"]
        else:
            parts.append(one)
    return "; ".join(parts)


def main() -> None:
    for name, (function, title, types, constants, said, options) in MADE.items():
        names = [x for x in function.arg_names if x not in constants]
        kinds = dict(zip(names, types.split()))
        signature = {x: kinds.get(x, "constexpr") for x in function.arg_names}
        source = ASTSource(fn=function, signature=signature, constexprs=constants)
        options |= {"ptx_version": PTX}
        made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
        ptx, about = made.asm["ptx"], made.metadata
        count = ptx.partition(")")[0].count(".param") - len(kinds)
        assert not (about.global_scratch_size or about.profile_scratch_size), name
        args = "; ".join([said["args"], *["uchar[1] zeros"] * count])
        head = {"family": "Triton", "kernel": about.name, "grid": said["grid"],
                "block": 32 * about.num_warps, "args": args}  # fmt: skip
        if about.shared:
            head["dynamic shared"] = about.shared
        head |= {key: value for key, value in said.items() if key not in head}
        write_module(name, title, head, ptx)
    for name, (function, title, _, types, said, args) in NUMBA.items():
        ptx, _ = cuda.compile_ptx(function, types, cc=(9, 0), lineinfo=True)
        entry = re.search(r"\.entry (\w+)", ptx)[1]
        ptx = ptx.replace(entry, function.__name__)
        head = {"family": "Numba", "kernel": function.__name__, **said,
                "args": array_arguments(args)}  # fmt: skip
        write_module(name, title, head, ptx)


if __name__ == "__main__":
    main()
