"""Kernels for the sanitizer: correct ones, and the same with one fault planted.

A table has a line for each launch: `== BASE kernel grid block shared args`, where BASE is a source
of the module, `shared` bytes and the args as `python -m kernels sanitize --args` takes them. Below
are its kernels, `name: kinds`, with the kinds of all findings, none for a correct kernel, and how
each differs from the base. Lines of that are named by a text that they contain, the second of such
lines by `#2 text`:

    text // fault       a finding has to stand there; `// other`: the earlier access of two has to
    old --> new         a part of the line is replaced, with `// fault` after it or without
    - text              the line is left out
    = text              it is replaced by the lines that follow, further to the right
    + text              those come after it
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A kernel of a table, as it is launched."""

    name: str
    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: str
    kinds: frozenset[str]
    shared_mem: int

    def lines(self, marker: str) -> set[int]:
        """The numbers of the lines that end in such a marker."""
        lines = enumerate(self.source.splitlines(), 1)
        return {n for n, text in lines if re.search(rf"// {marker}$", text)}


def read(table: str, sources: Mapping[str, str]) -> list[Planted]:
    """The kernels of a table, given the sources by name."""
    kernels, launch = [], ""
    for paragraph in re.split(r"\n(?=\S)", table.strip("\n")):
        if paragraph.startswith("=="):
            launch = paragraph
            continue
        _, base, kernel, grid, block, shared, args = launch.split(None, 6)
        head, *edits = paragraph.split("\n")
        name, _, kinds = head.rpartition(":")
        source = edited(sources[base], edits)
        grid, block = (tuple(map(int, size.split("x"))) for size in (grid, block))
        kinds = frozenset(filter(None, kinds.strip().split(", ")))
        kernels.append(Planted(name, source, kernel, grid, block, args, kinds, int(shared)))
    return kernels


def edited(source: str, edits: list[str]) -> str:
    """The source with the edits of a kernel of a table."""
    lines = source.splitlines()
    made = [[line] for line in lines]
    at = 0
    for edit in edits:
        if edit.startswith(" " * 6):
            made[at].append(edit)
            continue
        action, count, text, new, marker = re.fullmatch(
            r" {4}([-=+] )?(?:#(\d+) )?(.*?)(?: --> (.*?))?( // (?:fault|other)(?: other)?)?", edit
        ).groups()
        at = [n for n, line in enumerate(lines) if text in line][int(count or 1) - 1]
        if new is not None:
            made[at][0] = made[at][0].replace(text, new, 1)
        if marker:
            made[at][0] += marker
        elif action in ("- ", "= "):
            made[at].pop(0)
    return "\n".join(line for own in made for line in own) + "\n"


def edit(source: str, *changes: tuple[str, str]) -> str:
    """The source with each old text, which must be there, replaced once."""
    for old, new in changes:
        if old not in source:
            raise ValueError(f"nothing to replace: {old!r}")
        source = source.replace(old, new, 1)
    return source


EMPTY = """\
extern "C" __global__ void f(int n, const float* in, float* out)
{
}
"""
SGEMM = """\
extern "C" __global__ void sgemm(int M, int N, int K, float alpha, const float* A,
                                 const float* B, float beta, float* C)
{
"""
STORE = """
    if (row < M && col < N)
        C[row * N + col] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[row * N + col];
}
"""

TILED = (
    """\
#define BM 16
#define BN 16
#ifndef BK
#define BK 16
#endif
"""
    + SGEMM
    + """\
    __shared__ float tile_a[BM][BK], tile_b[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BM + ty, col = blockIdx.x * BN + tx;
    float sum = 0.0f;
    for (int start = 0; start < K; start += BK) {
        tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f;
        tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
"""
    + STORE
)

ASYNC = (
    """\
__device__ __forceinline__ void copy(float* to, const float* from)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from));
}
"""
    + SGEMM
    + """\
    __shared__ float tile_a[3][16][16], tile_b[3][16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    int tiles = K / 16;
    for (int t = 0; t < 2; ++t) {
        if (t < tiles) {
            copy(&tile_a[t][ty][tx], &A[row * K + t * 16 + tx]);
            copy(&tile_b[t][ty][tx], &B[(t * 16 + ty) * N + col]);
        }
        asm volatile("cp.async.commit_group;");
    }
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int next = t + 2;
        if (next < tiles) {
            copy(&tile_a[next % 3][ty][tx], &A[row * K + next * 16 + tx]);
            copy(&tile_b[next % 3][ty][tx], &B[(next * 16 + ty) * N + col]);
        }
        asm volatile("cp.async.commit_group;");
        for (int k = 0; k < 16; ++k)
            sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx];
    }
"""
    + STORE
)

# halves of a block as producer and consumer, with named barriers
NAMED = """\
extern "C" __global__ void pass(int n, const float* in, float* out)
{
    __shared__ float box[64];
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = t; i < n; i += 64) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            box[t] = in[i];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    } else {
        for (int i = t; i < n; i += 64) {
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
            out[i] = box[63 - t];
        }
    }
}
"""

LOCAL = """\
extern "C" __global__ void pick(int n, const int* in, int* out)
{
    int seen[10];
    int t = threadIdx.x;
    for (int i = 0; i < 10; ++i)
        seen[i] = 0;
    for (int i = 0; i < n; ++i)
        ++seen[in[(t + i) % 64]];
    out[t] = seen[in[t]];
}
"""

TABLE = r"""
== TILED sgemm 4x4 16x16 0 64 64 64 1.0 float[64,64] float[64,64] 0.0 out:float[64,64]
tiled:
swapped index:
    tile_b[k][tx] --> tile_b[tx][k]
no first barrier: race
    tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f; // other
    tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f; // other
    - __syncthreads();
    sum += tile_a[ty][k] * tile_b[k][tx]; // fault
no second barrier: race
    tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f; // fault
    tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f; // fault
    sum += tile_a[ty][k] * tile_b[k][tx]; // other
    - #2 __syncthreads();
<= in the tile loop: out of bounds
    k < BK --> k <= BK
    sum += tile_a[ty][k] * tile_b[k][tx]; // fault
C is read although beta is 0: uninitialised
    beta == 0.0f ? alpha * sum : alpha --> alpha // fault
read before the store: uninitialised
    + float sum = 0.0f;
      sum = tile_a[ty][tx]; // fault
barrier of some threads: barrier, race
    tile_a[ty][tx] = row < M && start + tx < K ? A[row * K + start + tx] : 0.0f; // other
    tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f; // other
    + tile_b[ty][tx] = start + ty < K && col < N ? B[(start + ty) * N + col] : 0.0f;
      if (threadIdx.x < 16 && ty < 15)
    __syncthreads(); // fault
    sum += tile_a[ty][k] * tile_b[k][tx]; // fault
    #2 __syncthreads(); // fault
== TILED sgemm 5x5 16x16 0 67 71 73 1.0 float[67,73] float[73,71] 0.0 out:float[67,71]
tiled, odd shape:
no guard for A: out of bounds
    row < M && start + tx < K ? A[row * K + start + tx] : 0.0f --> A[row * K + start + tx] // fault
no guard for C: out of bounds
    - if (row < M && col < N)
    = C[row * N + col] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[row * N + col];
      if (col < N)
      C[row * N + col] = // fault
      beta == 0.0f ? alpha * sum : alpha * sum + beta * C[row * N + col];
== ASYNC sgemm 4x4 16x16 0 64 64 64 1.0 float[64,64] float[64,64] 0.0 out:float[64,64]
asynchronous:
no wait: asynchronous copy
    volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from)); // fault other
    - asm volatile("cp.async.wait_group 1;" ::: "memory");
    sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx]; // fault
waits for too little: asynchronous copy
    volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from)); // other
    cp.async.wait_group 1; --> cp.async.wait_group 2;
    sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx]; // fault
barrier before the wait: race
    volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from)); // fault other
    + for (int t = 0; t < tiles; ++t) {
      __syncthreads();
    - __syncthreads();
    sum += tile_a[t % 3][ty][k] * tile_b[t % 3][k][tx]; // fault other
== NAMED pass 2 128 0 256 float[256] out:float[256]
named barriers:
== LOCAL pick 1 64 0 20 int[64] out:int[64]
local:
local element nobody set: uninitialised
    i < 10; --> i < 9;
    ++seen[in[(t + i) % 64]]; // fault
local array too short: out of bounds
    seen[10] --> seen[9]
    i < 10; --> i < 9;
    ++seen[in[(t + i) % 64]]; // fault
    out[t] = seen[in[t]]; // fault
== EMPTY f 1 32 0 256 float[256] out:float[256]
barrier under an if: barrier
    + {
      if (threadIdx.x < 16)
      __syncthreads(); // fault
      out[threadIdx.x] = in[threadIdx.x];
misaligned float4: misaligned
    + {
      const float* from = in + 1;
      float4 v = reinterpret_cast<const float4*>(from)[threadIdx.x]; // fault
      out[threadIdx.x] = v.x + v.y + v.z + v.w;
misaligned float4 in a padded tile: misaligned
    + {
      __shared__ __align__(16) float tile[8][33];
      for (int i = threadIdx.x; i < 8 * 33; i += 32)
      tile[0][i] = in[i % n];
      __syncthreads();
      float4 v = *reinterpret_cast<float4*>(&tile[threadIdx.x / 8][threadIdx.x % 8 * 4]); // fault
      out[threadIdx.x] = v.x + v.y + v.z + v.w;
two lanes, one store: race
    + {
      __shared__ float box[32];
      box[threadIdx.x / 2] = threadIdx.x; // fault other
      __syncthreads();
      out[threadIdx.x] = box[threadIdx.x / 2];
neighbour in the warp: race
    + {
      __shared__ float box[33];
      box[threadIdx.x] = in[threadIdx.x]; // other
      if (threadIdx.x == 0)
      box[32] = 0.0f;
      out[threadIdx.x] = box[threadIdx.x ^ 1]; // fault
half a warp waits: race
    + {
      __shared__ float box[32];
      box[threadIdx.x] = in[threadIdx.x]; // other
      __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
      out[threadIdx.x] = box[threadIdx.x ^ 16]; // fault
== EMPTY f 1 64 0 256 float[256] out:float[256]
copy overwritten in flight: asynchronous copy
    + {
      __shared__ float box[64];
      unsigned address = (unsigned)__cvta_generic_to_shared(&box[threadIdx.x]);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(in)); // other
      box[threadIdx.x] = 1.0f; // fault
      asm volatile("cp.async.wait_all;" ::: "memory");
      out[threadIdx.x] = box[threadIdx.x];
== EMPTY f 4 32 0 256 float[256] out:float[256]
blocks write one place: race
    + {
      if (threadIdx.x == 0)
      out[3] = in[blockIdx.x]; // fault other
"""
