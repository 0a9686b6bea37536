"""Rooflines, against products done by hand."""

import numpy as np
import pytest

import kernels
from kernels import analysis


def test_flop_and_bytes_of_sgemm():
    M, N, K = 3, 5, 7
    A, B, C = np.zeros((M, K)), np.zeros((K, N)), np.zeros((M, N))
    assert analysis.sgemm_flop(M, N, K) == sum(2 * K for _ in C.flat)
    assert analysis.compulsory_bytes(M, N, K) == 4 * (A.size + B.size + C.size)
    assert analysis.compulsory_bytes(M, N, K, beta=0.5) == 4 * (A.size + B.size + 2 * C.size)


def test_which_roof_limits():
    low = analysis.placement(flop=100, bytes=400, peak_tflops=60, bandwidth_gbs=4000)
    assert low.limit == "bandwidth"
    assert low.attainable_tflops == pytest.approx(1.0)  # 0.25 FLOP/B x 4 TB/s
    high = analysis.placement(flop=10_000, bytes=400, peak_tflops=60, bandwidth_gbs=4000)
    assert (high.limit, high.attainable_tflops) == ("arithmetic", 60)
    ridge = analysis.placement(flop=15, bytes=1, peak_tflops=60, bandwidth_gbs=4000)
    assert (ridge.limit, ridge.attainable_tflops) == ("arithmetic", 60)
    assert analysis.placement(0, 4, 60, 4000).attainable_tflops == 0


@pytest.mark.parametrize(
    "wrong", [{"flop": -1}, {"bytes": 0}, {"peak_tflops": 0}, {"bandwidth_gbs": float("nan")}]
)
def test_what_has_no_place(wrong):
    with pytest.raises(ValueError, match="must be positive.*" + next(iter(wrong))):
        analysis.placement(**{"flop": 1, "bytes": 1, "peak_tflops": 1, "bandwidth_gbs": 1} | wrong)


def test_recorded_steps_stay_under_the_roof():
    results = kernels.results("NVIDIA H200")
    for record in results.records:
        if record.step != "cublas":
            shape = record.M, record.N, record.K
            roof = analysis.placement(
                analysis.sgemm_flop(*shape),
                analysis.compulsory_bytes(*shape),
                analysis.arithmetic_peak(kernels.step(record.step), results),
                results.copy_gbs,
            )
            assert record.tflops <= roof.attainable_tflops


def test_the_arithmetic_peak_is_that_of_fmas_or_of_the_products_of_parts():
    results = kernels.results("NVIDIA H200")
    assert analysis.arithmetic_peak(kernels.step("19"), results) == results.fma_peak_tflops
    sms = results.provenance["multiprocessors"]
    roofs = kernels.roofs()["roofs"]
    for label, instruction, share in (
        ("20_tensor_cores", "mma.sync BF16", 1 / 6),
        ("20_tensor_cores ALL=1", "mma.sync BF16", 1 / 9),
        ("20_tensor_cores KIND=1 PARTS=2", "mma.sync TF32", 1 / 3),
        ("20_tensor_cores KIND=2 PARTS=2 CHAIN=16", "mma.sync FP16", 1 / 3),
        ("21_warpgroups", "wgmma BF16", 1 / 6),
        ("23_skinny", "wgmma BF16", 1 / 6),
        ("24_halves", "wgmma FP16", 1 / 3),
        ("25_tensor_maps", "wgmma FP16", 1 / 3),
    ):
        peak = analysis.arithmetic_peak(kernels.step(label), results, mhz=1500)
        wanted = 2 * share * roofs[instruction] * sms * 1500 / 1e6
        assert peak == pytest.approx(wanted), label
        fastest = analysis.arithmetic_peak(kernels.step(label), results)
        assert fastest == pytest.approx(peak * results.provenance["max_sm_clock_mhz"] / 1500)


@pytest.mark.parametrize("name, sectors", [("02_naive", 32 + 1), ("03_coalesced", 1 + 4)])
def test_traced_bytes(name, sectors):
    """A warp's 32 FMAs ask for the sectors of one load of A and one of B; C is stored once."""
    M, N, K = 64, 64, 8
    found = analysis.traced_bytes(kernels.step(name).trace(M, N, K).costs)
    stores = 32 if name == "02_naive" else 4
    assert found == 32 * (sectors * M * N * K + stores * M * N) // 32
    assert found > analysis.compulsory_bytes(M, N, K)


def test_shared_memory_is_no_traffic():
    trace = kernels.step("06_bank_conflicts").trace(32, 32, 32)
    assert {place.array for place in trace.costs} == {"A", "B", "C", "tile_a", "tile_b"}
    assert analysis.traced_bytes(trace.costs) == 4 * 3 * 32 * 32
