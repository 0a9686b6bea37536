"""Traces: which accesses are kept, and what the counters say, against counting by hand."""

import json

import numpy as np
import pytest

import kernels
from kernels.instruments import trace as tracing

LOADS = tracing.REQUESTS.format("ld"), tracing.SECTORS.format("ld")
STORES = tracing.REQUESTS.format("st"), tracing.SECTORS.format("st")

STRIDED = """
extern "C" __global__ void strided(int n, int stride, const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i * stride] * 2.0f;
}
"""


def strided(n, stride, block=64, **options):
    kernel = kernels.Kernel(STRIDED, "strided")
    source, out = np.arange(n * stride, dtype=np.float32), np.zeros(n, np.float32)
    found = kernel.trace(
        -(-n // block),
        block,
        (n, stride, source, out),
        names=("n", "stride", "in", "out"),
        **options,
    )
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
        (line, "load", "in"): (2, 2 * 8, 2 * 32, 2 * 4),
        (line, "store", "out"): (2, 2, 8, 8),
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


@pytest.mark.parametrize("step, lines", [("02_naive", 32), ("03_coalesced", 1)])
def test_steps(step, lines):
    M, N, K = 64, 96, 40
    found = kernels.step(step).trace(M, N, K)
    assert found.counters[tracing.FFMA] == M * N * K
    assert found.counters[LOADS[0]] == 2 * M * N * K // 32
    per_k = 32 + 1 if step == "02_naive" else 1 + 4
    assert found.counters[LOADS[1]] == per_k * M * N * K // 32
    cost = {place.array: cost for place, cost in found.costs.items()}
    assert cost["A"].lines == lines * cost["A"].requests
    assert cost["C"].requests == M * N // 32


def test_edges_count_only_active_lanes():
    found = kernels.step("03_coalesced").trace(3, 5, 7)
    assert found.counters[tracing.FFMA] == 3 * 5 * 7
    assert found.counters[LOADS[0]] == 2 * 3 * 7  # three warps have a row each


def test_step_trace_refuses_a_shape_the_step_cannot_do(tmp_path):
    source = kernels.step("03_coalesced").source.replace(
        "// block:", "// requires: K % 8 == 0\n// block:"
    )
    (tmp_path / "07_picky.cu").write_text(source)
    with pytest.raises(ValueError, match="K % 8 == 0"):
        kernels.ladder.step.step("07_picky", tmp_path).trace(8, 8, 7)


def test_a_trace_prints_as_a_table():
    head, *rows = str(kernels.step("02_naive").trace(32, 32, 40)).splitlines()
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
    kernel = kernels.Kernel(TILED, "tiled", (f"-DPAD={pad}",))
    source, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    found = kernel.trace(grid, threads, (32, source, out), names=("n", "in", "out"), **options)
    np.testing.assert_array_equal(out.reshape(32, 32), source.reshape(32, 32).T)
    return found


def line_of(text, source=TILED):
    return 1 + source.split("\n").index(next(x for x in source.split("\n") if text in x))


@pytest.mark.parametrize("pad, wavefronts", [(0, 32), (1, 1)])
def test_bank_conflicts_of_a_transpose(pad, wavefronts):
    found = tiled(pad)
    requests = 3 * 32  # blocks, rows: a warp each
    expected = {
        "smsp__inst_executed_op_shared_{}.sum": (requests, requests),
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum": (wavefronts * requests, requests),
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum": (
            (wavefronts - 1) * requests,
            0,
        ),
        "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum": (requests, requests),
        "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum": (4 * requests, 4 * requests),
    }
    for name, counts in expected.items():
        assert tuple(found.counters[name.format(op)] for op in ("ld", "st")) == counts, name
    place = tracing.Place(line_of("tile[x][row]"), "load", "tile")
    assert found.costs[place] == tracing.SharedCost(
        requests, wavefronts * requests, (wavefronts - 1) * requests, requests
    )
    assert found.costs[place].actual == wavefronts * requests
    rows = str(found).splitlines()
    assert [row.split()[:3] for row in rows[:3]] == [
        ["line", "access", "array"],
        [str(line_of("tile[row][x]")), "load", "in"],
        [str(place.line), "store", "out"],
    ]
    assert rows[4].split()[4] == "wavefronts/req"
    assert rows[6].split() == [
        str(place.line),
        "load",
        "tile",
        str(requests),
        str(wavefronts),
        str(wavefronts - 1),
        "1",
    ]


def test_elements_of_shared_arrays_have_names():
    found = tiled(pad=1)
    assert found.shapes["tile"] == (32, 33)
    access = found.find("tile", "load", warp=2, index=1)
    assert [access.element(lane) for lane in (0, 1, 31)] == [
        "tile[0][10]",
        "tile[1][10]",
        "tile[31][10]",
    ]
    assert access.space == "shared" and access.wavefronts == 1 and access.conflicts == 0
    assert found.find("in", warp=1).element(2) == "in[34]"
    assert access.line == line_of("tile[x][row]") and access.ptx_line > 0
    assert [a.step for a in found.accesses] == sorted(a.step for a in found.accesses)


def test_elements_of_matrices_have_names():
    found = kernels.step("02_naive").trace(64, 96, 40)
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
    found = kernels.Kernel(source, "tiled").trace(
        1, 256, (32, np.zeros(1024, np.float32), np.zeros(1024, np.float32))
    )
    assert found.shapes["tile"] == (1024,)
    assert found.find("tile", warp=1).element(3) == "tile[97]"


def test_kept_blocks_warps_and_lines():
    line = line_of("tile[x][row]")
    found = tiled(keep=[(1,), (2,)], warps=(0, 3), lines=(line,))
    assert {(a.block[0], a.warp, a.line) for a in found.accesses} == {
        (b, w, line) for b in (1, 2) for w in (0, 3)
    }
    assert found.block == (1, 0, 0) and found.find("tile").block == (1, 0, 0)
    assert found.counters == tiled().counters
    nothing = tiled(keep=())
    assert not nothing.accesses and nothing.costs == tiled().costs


def test_counts_do_not_depend_on_how_blocks_are_grouped(monkeypatch):
    whole = tiled(pad=3, grid=7)
    monkeypatch.setattr("kernels.ptx.machine.CHUNK_THREADS", 512)
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
    kernel = kernels.Kernel(FOLDED, "folded")
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
    found = kernels.Kernel(GUARDED, "guarded").trace(2, 64, (np.ones(64, np.float32),))
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
    found = kernels.Kernel(LOCAL, "local").trace(1, 32, (7, x), names=("n", "x"))
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
    kernel = kernels.Kernel(ASYNC, "copied", (f"-DSTRIDE={stride}",))
    found = kernel.trace(4, 64, (np.zeros(256, np.float32), np.zeros(64, np.float32)))
    assert [found.counters[name] for name in LOADS] == [8, 8 * sectors]
    assert found.counters["smsp__inst_executed_op_shared_st.sum"] == 0


def test_json():
    data = json.loads(json.dumps(tiled().to_json()))
    assert data["counters"][LOADS[0]] == 96
    assert {"line", "kind", "array", "space", "requests", "wavefronts", "ideal"} <= set(
        data["costs"][-1]
    ) or data["costs"][-1]["space"] == "global"
    assert {cost["space"] for cost in data["costs"]} == {"global", "shared"}


def test_counters_per_multiply_add():
    trace = kernels.step("03_coalesced").trace(64, 64, 64)
    assert trace.per_fma(tracing.REQUESTS.format("ld")) == 2
    assert trace.per_fma(tracing.SECTORS.format("ld")) == 5
    trace.counters[tracing.FFMA] = 0
    with pytest.raises(ValueError, match="no multiply-add"):
        trace.per_fma(tracing.REQUESTS.format("ld"))
