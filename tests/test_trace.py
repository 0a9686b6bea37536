"""Traces: which accesses are kept, and what the counters say, against counting by hand."""

import numpy as np
import pytest

import kernels
from kernels import trace as tracing

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
    found = kernel.trace(-(-n // block), block, (n, stride, source, out),
                         names=("n", "stride", "in", "out"), **options)
    np.testing.assert_array_equal(out, 2 * source[::stride])
    return found


@pytest.mark.parametrize("stride, sectors", [(1, 4), (2, 8), (4, 16), (8, 32), (33, 32)])
def test_sectors_of_strided_loads(stride, sectors):
    found = strided(256, stride)
    assert [found.counters[name] for name in LOADS] == [8, 8 * sectors]
    assert [found.counters[name] for name in STORES] == [8, 8 * 4]
    assert found.shapes == {"in": (256 * stride,), "out": (256,)}


def test_warps_without_active_lanes_make_no_request():
    found = strided(70, 1, block=64)                # 64 in one block, 6 lanes of the next
    assert [found.counters[name] for name in LOADS] == [3, 4 + 4 + 1]


def test_costs_name_line_and_array():
    line = 1 + STRIDED.split("\n").index("        out[i] = in[i * stride] * 2.0f;")
    costs = strided(64, 8).costs
    assert costs == {(line, "load", "in"): (2, 2 * 8, 2 * 32, 2 * 4),
                     (line, "store", "out"): (2, 2, 8, 8)}


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
    assert found.counters[LOADS[0]] == 2 * 3 * 7            # three warps have a row each


def test_step_trace_refuses_a_shape_the_step_cannot_do(tmp_path):
    source = kernels.step("03_coalesced").source.replace(
        "// block:", "// requires: K % 8 == 0\n// block:")
    (tmp_path / "07_picky.cu").write_text(source)
    with pytest.raises(ValueError, match="K % 8 == 0"):
        kernels.steps.step("07_picky", tmp_path).trace(8, 8, 7)


def test_a_trace_prints_as_a_table():
    head, *rows = str(kernels.step("02_naive").trace(32, 32, 40)).splitlines()
    assert head.split()[:3] == ["line", "access", "array"]
    assert [row.split()[1:] for row in rows] == [
        ["load", "A", "1280", "32", "32", "4"], ["load", "B", "1280", "1", "1", "1"],
        ["store", "C", "32", "32", "32", "4"]]
