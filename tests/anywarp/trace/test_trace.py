"""Traces: which accesses are kept, and what the counters say, against counting by hand."""

import json

import numpy as np
import pytest

from anywarp import Kernel, analysis, ptx, trace as tracing

LOADS = tracing.REQUESTS.format("ld"), tracing.SECTORS.format("ld")
STORES = tracing.REQUESTS.format("st"), tracing.SECTORS.format("st")

SHARED = (
    tracing.metrics.SHARED_INSTRUCTIONS,
    tracing.metrics.WAVEFRONTS,
    tracing.metrics.CONFLICTS,
)

STRIDED = """
extern "C" __global__ void strided(int n, int stride, const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i * stride] * 2.0f;
}
"""


def strided(n, stride, block=64, **options):
    kernel = Kernel(STRIDED, "strided")
    source, out = np.arange(n * stride, dtype=np.float32), np.zeros(n, np.float32)
    found = kernel.trace(-(-n // block), block, (n, stride, source, out), **options)
    np.testing.assert_array_equal(out, 2 * source[::stride])
    return found


@pytest.mark.parametrize("stride, sectors", [(1, 4), (2, 8), (4, 16), (8, 32), (33, 32)])
def test_sectors_of_strided_loads(stride, sectors):
    found = strided(256, stride)
    assert [found.counters[name] for name in LOADS] == [8, 8 * sectors]
    assert [found.counters[name] for name in STORES] == [8, 8 * 4]
    assert found.shapes == {"in": (256 * stride,), "out": (256,)}


def test_warps_without_active_lanes_make_no_request():
    found = strided(70, 1, block=64)  # 64 in one block, 6 lanes of the next
    assert [found.counters[name] for name in LOADS] == [3, 4 + 4 + 1]


def test_costs_name_line_and_array():
    line = 1 + STRIDED.split("\n").index("        out[i] = in[i * stride] * 2.0f;")
    costs = strided(64, 8).costs
    assert costs == {
        (line, "load", "in", "kernel.cu"): (2, 2 * 8, 2 * 32, 2 * 4, 2 * 8, 2, 2 * 2),
        (line, "store", "out", "kernel.cu"): (2, 2, 8, 8, 2, 2, 2),
    }


def test_kept_accesses_are_those_of_the_chosen_block():
    found = strided(200, 3, block=64, keep=(2,))
    access = found.find("in", "load", warp=1)
    first = 2 * 64 + 32
    np.testing.assert_array_equal(access.offset, 4 * 3 * np.arange(first, first + 32))
    assert access.active.all() and access.width == 4 and access.sectors == 12
    assert {a.warp for a in found.accesses} == {0, 1}
    last = strided(200, 3, block=64, keep=(3,)).find("out", "store")
    np.testing.assert_array_equal(last.active, np.arange(32) < 8)


def test_what_cannot_be_found():
    found = strided(64, 1)
    with pytest.raises(ValueError, match="2 loads|1 loads.*loads of in"):
        found.find("in", index=5)
    with pytest.raises(ValueError, match="loads of in, stores of out"):
        found.find("in", kind="atomic")
    with pytest.raises(ValueError, match=r"no block \(9, 0, 0\)"):
        strided(64, 1, keep=(9,))


@pytest.mark.parametrize("options, message", [
    ({"keep": 3}, r"keep must be a block, such as \(1, 0\), or a list of blocks, not 3"),
    ({"keep": None}, "keep must be a block.* not None"),
    ({"keep": "all"}, "keep must be a block.* not 'all'"),
    ({"keep": (0.5, 0)}, "keep must be a block"),
    ({"keep": (0, 0, 0, 0)}, "keep must be a block"),
    ({"keep": [(0,), 1]}, "keep must be a block"),
    ({"warps": 0}, "warps must be a list of whole numbers, not 0"),
    ({"warps": "5"}, "warps must be a list of whole numbers, not '5'"),
    ({"warps": [1, 2]}, "there is no warp 2 in a block of 2 warps"),
    ({"warps": [-1]}, "there is no warp -1"),
])  # fmt: skip
def test_what_is_kept_is_named_in_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        strided(64, 1, **options)


PRODUCT = """
extern "C" __global__ void product(int M, int N, int K, const float* A, const float* B, float* C)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int row = ALONG_ROWS ? x : y, column = ALONG_ROWS ? y : x;
    if (row < M && column < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += A[row * K + k] * B[k * N + column];
        C[row * N + column] = sum;
    }
}
"""


def product(along_rows, M, N, K):
    """A trace of a product of matrices, whose warps go along rows or columns of C."""
    kernel = Kernel(PRODUCT, "product", (f"-DALONG_ROWS={int(along_rows)}",))
    matrices = [np.ones(shape, np.float32) for shape in ((M, K), (K, N), (M, N))]
    across, down = (M, N) if along_rows else (N, M)
    return kernel.trace((-(-across // 32), -(-down // 8)), (32, 8), (M, N, K, *matrices))


@pytest.mark.parametrize("along_rows, lines", [(True, 32), (False, 1)])
def test_products(along_rows, lines):
    M, N, K = 64, 96, 40
    found = product(along_rows, M, N, K)
    assert found.counters[tracing.FFMA] == M * N * K
    assert found.counters[LOADS[0]] == 2 * M * N * K // 32
    per_k = 32 + 1 if along_rows else 1 + 4
    assert found.counters[LOADS[1]] == per_k * M * N * K // 32
    cost = {place.array: cost for place, cost in found.costs.items()}
    assert cost["A"].lines == lines * cost["A"].requests
    assert cost["C"].requests == M * N // 32


def test_edges_count_only_active_lanes():
    found = product(False, 3, 5, 7)
    assert found.counters[tracing.FFMA] == 3 * 5 * 7
    assert found.counters[LOADS[0]] == 2 * 3 * 7  # three warps have a row each


def test_a_trace_prints_as_a_table():
    head, *rows = str(product(True, 32, 32, 40)).splitlines()
    assert head.split()[:3] == ["line", "access", "array"]
    assert [row.split()[1:] for row in rows] == [
        ["load", "A", "1280", "32", "32", "4"],
        ["load", "B", "1280", "1", "1", "1"],
        ["store", "C", "32", "32", "32", "4"],
    ]


TILED = """
#define T 32
extern "C" __global__ void tiled(int n, const float* in, float* out)
{
    __shared__ float tile[T][T + PAD];
    int x = threadIdx.x % T, y = threadIdx.x / T;
    for (int row = y; row < T; row += blockDim.x / T)
        tile[row][x] = in[row * T + x];
    __syncthreads();
    for (int row = y; row < T; row += blockDim.x / T)
        out[row * T + x] = tile[x][row];
}
"""


def tiled(pad=0, threads=256, grid=3, **options):
    kernel = Kernel(TILED, "tiled", (f"-DPAD={pad}",))
    source, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    found = kernel.trace(grid, threads, (32, source, out), **options)
    np.testing.assert_array_equal(out.reshape(32, 32), source.reshape(32, 32).T)
    return found


def line_of(text, source=TILED):
    return 1 + source.split("\n").index(next(x for x in source.split("\n") if text in x))


@pytest.mark.parametrize("pad, wavefronts", [(0, 32), (1, 1)])
def test_bank_conflicts_of_a_transpose(pad, wavefronts):
    found = tiled(pad)
    requests = 3 * 32  # blocks, rows: a warp each
    names = *SHARED, tracing.REQUESTS, tracing.SECTORS
    counts = [[found.counters[name.format(op)] / requests for name in names] for op in ("ld", "st")]
    assert counts == [[1, wavefronts, wavefronts - 1, 1, 4], [1, 1, 0, 1, 4]]
    place = tracing.Place(line_of("tile[x][row]"), "load", "tile", "kernel.cu")
    assert found.costs[place] == tracing.SharedCost(
        requests, wavefronts * requests, (wavefronts - 1) * requests, requests
    )
    assert found.costs[place].actual == wavefronts * requests
    rows = str(found).splitlines()
    for row, words in (
        (0, "line access array"),
        (1, f"{line_of('tile[row][x]')} load in"),
        (2, f"{place.line} store out"),
        (4, "line access array requests wavefronts/req"),
        (6, f"{place.line} load tile {requests} {wavefronts} {wavefronts - 1} 1"),
    ):
        assert " ".join(rows[row].split()).startswith(words)


def test_elements_of_shared_arrays_have_names():
    found = tiled(pad=1)
    assert found.shapes["tile"] == (32, 33)
    access = found.find("tile", "load", warp=2, index=1)
    assert [access.element(lane) for lane in (0, 31)] == ["tile[0][10]", "tile[31][10]"]
    assert access.space == "shared" and access.wavefronts == 1 and access.conflicts == 0
    assert found.find("in", warp=1).element(2) == "in[34]"
    assert access.line == line_of("tile[x][row]") and access.ptx_line > 0
    assert [a.step for a in found.accesses] == sorted(a.step for a in found.accesses)


def test_elements_of_matrices_have_names():
    found = product(True, 64, 96, 40)
    assert found.find("A", index=7).element(3) == "A[3][7]"


def test_a_shape_that_the_source_does_not_tell():
    source = (
        TILED.replace("tile[T][T + PAD]", "tile[f(T)]")
        .replace("tile[row][x]", "tile[row * T + x]")
        .replace("tile[x][row]", "tile[x * T + row]")
        .replace(
            "#define T 32", "#define T 32\n__device__ constexpr int f(int n) { return n * n; }"
        )
    )
    found = Kernel(source, "tiled").trace(1, 256, (32, *np.zeros((2, 1024), np.float32)))
    assert found.shapes["tile"] == (1024,)
    assert found.find("tile", warp=1).element(3) == "tile[97]"


def test_kept_blocks_and_warps():
    found = tiled(keep=[(1,), (2,)], warps=(0, 3))
    assert {(a.block[0], a.warp) for a in found.accesses} == {
        (b, w) for b in (1, 2) for w in (0, 3)
    }
    assert found.block == (1, 0, 0) and found.find("tile").block == (1, 0, 0)
    assert found.counters == tiled().counters
    nothing = tiled(keep=())
    assert not nothing.accesses and nothing.costs == tiled().costs


def test_counts_do_not_depend_on_how_blocks_are_grouped(monkeypatch):
    whole = tiled(pad=3, grid=7)
    monkeypatch.setattr("anywarp.ptx.machine.machine.CHUNK_THREADS", 512)
    parts = tiled(pad=3, grid=7)
    assert whole.counters == parts.counters and whole.costs == parts.costs


FOLDED = """
extern "C" __global__ void folded(const float* in, float* out)
{
    __shared__ float row[256];
    for (int i = threadIdx.x; i < 256; i += 32) row[i] = in[i];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += row[4 * threadIdx.x + k] * (k + 2);
    out[threadIdx.x] = sum;
}
"""


def test_loads_that_ptxas_joins():
    args = lambda: (np.ones(256, np.float32), np.zeros(32, np.float32))
    kernel = Kernel(FOLDED, "folded")
    found = kernel.trace(1, 32, args(), keep=(0,))
    name = "smsp__inst_executed_op_shared_ld.sum"
    assert found.counters[name] == 1
    access = found.find("row")
    assert access.width == 16 and access.wavefronts == 4
    np.testing.assert_array_equal(access.offset, 16 * np.arange(32))
    apart = kernel.trace(1, 32, args(), folded=False)
    assert apart.counters[name] == 4
    assert [a.width for a in apart.accesses if a.array == "row" and a.kind == "load"] == [4] * 4


GUARDED = """
extern "C" __global__ void guarded(float* x)
{
    float y = x[threadIdx.x];
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 20; @p fma.rn.f32 %0, %0, %0, %0; }"
                 : "+f"(y) : "r"(threadIdx.x));
    x[threadIdx.x] = y;
}
"""


def test_multiply_adds_under_a_predicate_count_where_it_is_true():
    found = Kernel(GUARDED, "guarded").trace(2, 64, (np.ones(64, np.float32),))
    assert found.counters[tracing.FFMA] == 2 * 20


LOCAL = """
extern "C" __global__ void local(int n, float* x)
{
    float own[40];
    for (int i = 0; i < 40; ++i) own[(i * n) % 40] = x[i];
    x[threadIdx.x] = own[threadIdx.x % n];
}
"""


def test_local_memory_is_kept_but_has_no_cost():
    x = np.arange(64, dtype=np.float32)
    found = Kernel(LOCAL, "local").trace(1, 32, (7, x))
    kept = [a for a in found.accesses if a.space == "local"]
    assert {a.kind for a in kept} == {"load", "store"}
    assert kept[-1].kind == "load" and kept[-1].offset[3] == 4 * 3
    assert {place.array for place in found.costs} == {"x"}


ASYNC = """
extern "C" __global__ void copied(const float* in, float* out)
{
    __shared__ __align__(16) float s[2048];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + STRIDE * threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 4 * threadIdx.x));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
"""


@pytest.mark.parametrize("stride, sectors", [(4, 16), (8, 32), (16, 32), (32, 32)])
def test_asynchronous_copies(stride, sectors):  # counted by an H200
    kernel = Kernel(ASYNC, "copied", (f"-DSTRIDE={stride}",))
    found = kernel.trace(4, 64, (np.zeros(256, np.float32), np.zeros(64, np.float32)))
    assert [found.counters[name] for name in LOADS] == [8, 8 * sectors]
    assert found.counters["smsp__inst_executed_op_shared_st.sum"] == 0


def test_asynchronous_copies_of_a_part_read_the_sectors_that_it_lies_in():
    source = ASYNC.replace("16;", "16, 5;").replace("4 * threadIdx.x))", "8 * threadIdx.x))")
    kernel = Kernel(source, "copied", ("-DSTRIDE=4",))
    found = kernel.trace(1, 64, (np.ones(512, np.float32), np.zeros(64, np.float32)))
    costs = [cost for place, cost in found.costs.items() if place.array == "in"]
    assert [(cost.requests, cost.sectors) for cost in costs] == [(2, 2 * 32)]


def test_warps_whose_copies_only_fill_with_zeros_make_no_request():  # counted in step 16
    source = (
        ASYNC.replace(".cg", ".ca")
        .replace("16;", "16, %2;")
        .replace("4 * threadIdx.x))", '4 * threadIdx.x), "r"(threadIdx.x == 9 ? 16 : 0))')
    )
    kernel = Kernel(source, "copied", ("-DSTRIDE=4",))
    found = kernel.trace(2, 64, (np.ones(512, np.float32), np.zeros(64, np.float32)))
    assert [found.counters[name] for name in LOADS] == [2, 2]  # the first warp of each block


def test_lanes_whose_copy_past_the_l1_only_fills_with_zeros_have_no_sector():
    source = ASYNC.replace("16;", "16, %2;").replace(
        "4 * threadIdx.x))", '4 * threadIdx.x), "r"(threadIdx.x % 17 ? 16 : 0))'
    )  # of tests/corpus/t_cpasync_zero_fill.cu
    found = Kernel(source, "copied", ("-DSTRIDE=8",)).trace(
        1, 64, (np.ones(512, np.float32), np.zeros(64, np.float32))
    )
    assert [found.counters[name] for name in LOADS] == [2, 64 - 4]


def test_json():
    data = json.loads(json.dumps(tiled().to_json()))
    assert data["counters"][LOADS[0]] == 96
    assert {"line", "kind", "array", "space", "requests", "wavefronts", "ideal"} <= set(
        data["costs"][-1]
    ) or data["costs"][-1]["space"] == "global"
    assert {cost["space"] for cost in data["costs"]} == {"global", "shared"}


def test_counters_per_multiply_add():
    trace = product(False, 64, 64, 64)
    assert trace.per_fma(tracing.REQUESTS.format("ld")) == 2
    assert trace.per_fma(tracing.SECTORS.format("ld")) == 5
    trace.counters[tracing.FFMA] = 0
    with pytest.raises(ValueError, match="no multiply-add"):
        trace.per_fma(tracing.REQUESTS.format("ld"))


REVERSED = """
extern "C" __global__ void reversed(int last, const float* in, float* out)
{
    __shared__ float s[64];
    s[threadIdx.x] = in[last - threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize("last", [63, 64, 70])
def test_lanes_below_the_first_count(last):
    """Addresses that fall from lane to lane: each warp takes 4 sectors, or 5 across a border."""
    args = last, np.arange(128, dtype=np.float32), np.zeros(64, np.float32)
    found = Kernel(REVERSED, "reversed").trace(1, 64, args)
    np.testing.assert_array_equal(args[2], args[1][last - 63 : last + 1])
    assert [found.counters[name.format("ld")] for name in SHARED] == [2, 2, 0]
    across = last % 8 != 7
    assert [found.counters[name] for name in LOADS] == [2, 2 * (4 + across)]
    cost = next(cost for place, cost in found.costs.items() if place.array == "in")
    assert cost.lines == {63: 2, 64: 4, 70: 4}[last] and cost.ideal == 8


MASKED = """
extern "C" __global__ void masked(int from, int mask, float* out)
{
    if (threadIdx.x >= from && (threadIdx.x & mask) == 0) out[threadIdx.x] = 1;
}
"""


TURNS = """
extern "C" __global__ void turns(float* out)
{
#pragma unroll 1
    for (int n = 0; n < 3; ++n)
        if (threadIdx.x < (n == 1 ? 48 : 32)) atomicAdd(out, 1.0f);
}
"""


def test_the_pattern_has_the_mask_in_it():
    """One address under several masks, in one run: 1, 2 and 1 warps."""
    kernel = Kernel(TURNS, "turns")
    found = kernel.trace(1, 64, (np.zeros(1, np.float32),))
    (cost,) = found.costs.values()
    assert cost[:4] == (4, 4, 4, 4)


@pytest.mark.parametrize("first, mask, sectors", [(0, 7, 4), (9, 0, 3), (31, 0, 1), (8, 15, 1)])
def test_only_active_lanes_count_wherever_the_others_are(first, mask, sectors):
    found = Kernel(MASKED, "masked").trace(1, 32, (first, mask, np.zeros(32, np.float32)))
    assert [found.counters[name] for name in STORES] == [1, sectors]


CONSTANT = """
__constant__ float table[64];
extern "C" __global__ void constant(const float* in, float* out)
{
    out[threadIdx.x] = in[threadIdx.x] + table[3] + table[threadIdx.x ^ 5];
}
"""


def test_constant_memory_is_not_global():
    args = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel = Kernel(CONSTANT, "constant")
    kernel.set("table", np.zeros(64, np.float32))
    spaces = []
    ptx.run(
        kernel.entry, 1, 64, args,
        sink=lambda e: spaces.append(e.space) if isinstance(e, ptx.Access) else None,
    )  # fmt: skip
    assert spaces.count("const") == 2 and spaces.count("global") == 2
    found = kernel.trace(1, 64, args)
    assert [found.counters[name] for name in LOADS] == [2, 8]
    assert {place.array for place in found.costs} == {"in", "out"}


HEADER = """
#line 4 "twice.h"
__device__ float twice(const float* x) { return 2 * x[32 * threadIdx.x]; }
#line 1 "kernel.cu"
extern "C" __global__ void included(const float* in, float* out)
{

    out[threadIdx.x] = twice(in) + in[threadIdx.x];
}
"""


def test_a_line_of_a_header_is_not_that_of_the_kernel():
    args = np.ones(1024, np.float32), np.zeros(32, np.float32)
    found = Kernel(HEADER, "included").trace(1, 32, args)
    loads = {p: c.sectors for p, c in found.costs.items() if p.kind == "load"}
    assert loads == {(4, "load", "in", "twice.h"): 32, (4, "load", "in", "kernel.cu"): 4}
    assert "twice.h:4" in str(found) and "kernel.cu:4" in str(found)
    assert {a.file for a in found.accesses} == {"twice.h", "kernel.cu"}


WHERE = """
extern "C" __global__ void where(float* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[32 * block + threadIdx.x] = block;
}
"""


@pytest.mark.parametrize("block", [(1, 2, 0), (0, 1, 3), (1, 0, 2)])
def test_blocks_are_numbered_along_all_axes(block):
    grid = 2, 3, 4
    number = block[0] + 2 * (block[1] + 3 * block[2])
    out = np.zeros(32 * 24, np.float32)
    found = Kernel(WHERE, "where").trace(grid, 32, (out,), keep=block)
    access = found.find("out", "store")
    assert access.block == found.block == block
    np.testing.assert_array_equal(access.offset, 4 * (32 * number + np.arange(32)))


def test_find_looks_in_the_block_of_the_trace_alone():
    out = np.zeros(32 * 24, np.float32)
    keep = [(1, 1, 1), (0, 0, 0), (1, 2, 3)]
    found = Kernel(WHERE, "where").trace((2, 3, 4), 32, (out,), keep=keep)
    assert [a.block for a in found.accesses] == [(0, 0, 0), (1, 1, 1), (1, 2, 3)]
    assert found.find("out", "store").block == (1, 1, 1)
    with pytest.raises(ValueError, match="1 stores"):
        found.find("out", "store", index=1)


NARROW = """
extern "C" __global__ void narrow(const ELEMENT* in, ELEMENT* out)
{
    out[threadIdx.x] = in[STRIDE * threadIdx.x];
}
"""


@pytest.mark.parametrize(
    "kind, stride, sectors, ideal",
    [("char", 1, 1, 1), ("char", 8, 8, 1), ("short", 1, 2, 2), ("short", 4, 8, 2)],
)
def test_the_fewest_sectors_of_elements_narrower_than_a_word(kind, stride, sectors, ideal):
    dtype = {"char": np.int8, "short": np.int16}[kind]
    kernel = Kernel(NARROW, "narrow", (f"-DELEMENT={kind}", f"-DSTRIDE={stride}"))
    args = np.zeros(32 * stride, dtype), np.zeros(32, dtype)
    found = kernel.trace(1, 32, args)
    cost = next(cost for place, cost in found.costs.items() if place.kind == "load")
    assert (cost.sectors, cost.ideal) == (sectors, ideal)


def test_lanes_that_stay_in_a_sector_hit_and_so_do_warps_that_follow():
    """Two warps walk along the same 32 rows: the first misses where a lane comes to a sector."""
    source = """
    extern "C" __global__ void k(const float* x, float* out)
    {
        float sum = 0.0f;
        #pragma unroll 1
        for (int n = 0; n < 12; ++n)
            sum += x[threadIdx.x % 32 * 255 + n];
        out[threadIdx.x] = sum;
    }"""
    x, out = np.ones(32 * 255, np.float32), np.zeros(64, np.float32)
    trace = Kernel(source, "k").trace(1, 64, (x, out))
    loads = [a for a in trace.accesses if a.kind == "load"]
    assert len(loads) == 24 and not any((a.address - b.address).any() for a, b in pairs(loads))
    first = [access.address for access in loads if access.warp == 0]
    before = [np.full(32, -32), *first]
    hits = [at // 32 == last // 32 for at, last in zip(first, before)]
    data = [analysis.global_wavefronts(at, 4, hits=hit) for at, hit in zip(first, hits)]
    assert 0 < sum(hit.sum() for hit in hits) < 12 * 32
    (cost,) = (cost for place, cost in trace.costs.items() if place.kind == "load")
    assert cost.wavefronts == sum(data) + 12
    assert cost.tags == 2 * sum(analysis.tag_wavefronts(at, 4) for at in first)


def pairs(loads):
    """Of two warps, what each loads at a time."""
    by_warp = [[a for a in loads if a.warp == warp] for warp in (0, 1)]
    return zip(*by_warp)


def test_256_bits_are_counted_as_two_halves():
    text = """.version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 a) {
    .reg .b64 %p; .reg .b32 %t, %r<8>;
    ld.param.u64 %p, [a]; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 32, %p;
    LOAD
    st.global.v4.b32 [%p], {%r7, %r6, %r5, %r4}; st.global.v4.b32 [%p+16], {%r3, %r2, %r1, %r0};
}"""
    at_once = "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%p];"
    halves = "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%p];"
    halves += "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%p+16];"
    counted = [
        Kernel.from_ptx(text.replace("LOAD", each), "k").trace(1, 32, (np.zeros(256, "u4"),))
        for each in (at_once, halves)
    ]
    assert counted[0].counters == counted[1].counters
