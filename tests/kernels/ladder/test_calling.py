"""Calling a step: matrices in, a matrix out, as BLAS defines it."""

import numpy as np
import pytest

from kernels.analysis.reference import assert_close, inputs
from kernels.ladder import step as ladder

ALL = [pytest.param(one, id=one.id) for one in ladder.steps()]


@pytest.fixture(scope="module")
def coalesced():
    return ladder.step("03_coalesced")


def test_a_new_matrix(coalesced):
    A, B, _ = inputs(33, 65, 17)
    C = coalesced(A, B, device="interpreter")
    assert C.dtype == np.float32 and C.flags.c_contiguous
    assert_close(C, A, B)


def test_c_is_updated_in_place(coalesced):
    A, B, C = inputs(33, 35, 17)
    before = C.copy()
    assert coalesced(A, B, C, alpha=0.1, beta=2, device="interpreter") is C
    assert_close(C, A, B, before, 0.1, 2)


@pytest.mark.parametrize("alpha", [0, 0.0, -0.0, 1e-60])
def test_alpha_0_does_not_read_a_and_b(coalesced, alpha):
    A, B, C = inputs(5, 6, 7)
    before = C.copy()
    A[:], B[:] = np.nan, np.inf
    coalesced(A, B, C, alpha, 0.5, device="interpreter")
    assert (C == before * np.float32(0.5)).all()


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (0, 0, 0)])
def test_an_empty_result(coalesced, shape):
    A, B, C = inputs(*shape)
    assert coalesced(A, B).shape == C.shape
    assert coalesced(A, B, C, beta=1) is C


@pytest.mark.parametrize("writeable", [True, False])
def test_inputs_may_be_read_only_overlap_or_be_the_same(coalesced, writeable):
    A = inputs(40, 40, 40)[0]
    A.flags.writeable = writeable
    top = A[:20]
    np.testing.assert_allclose(coalesced(top, A, device="interpreter"), top @ A, atol=1e-5)
    np.testing.assert_allclose(coalesced(A, A, device="interpreter"), A @ A, atol=1e-5)


@pytest.mark.parametrize("offset", [0, 1, 4, 8])
@pytest.mark.parametrize("device", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_numpy_arrays_may_lie_anywhere(offset, device):
    vectors = ladder.step("08_vectorized")
    assert vectors.alignment == 16
    A, B, C = inputs(*(vectors.defines[side] for side in ("BM", "BN", "BK")))

    def moved(x):
        buffer = np.zeros(x.nbytes + 64, np.uint8)
        start = offset - buffer.ctypes.data % 16 + 16
        there = buffer[start : start + x.nbytes].view(np.float32).reshape(x.shape)
        there[:] = x
        assert there.ctypes.data % 16 == offset
        return there

    C = moved(C)
    assert vectors(moved(A), moved(B), C, device=device) is C
    assert_close(C, A, B)


@pytest.mark.gpu
@pytest.mark.parametrize("one", ALL)
def test_gpu_and_interpreter_agree_to_the_bit(one):
    m, n, k = one.defines["BM"], one.defines["BN"], one.defines.get("BK", 8)
    A, B, C = inputs(2 * m, n, 3 * k)
    twice = [one(A, B, C.copy(), 1.5, -0.5, device) for device in ("gpu", "interpreter")]
    assert twice[0].tobytes() == twice[1].tobytes()


@pytest.mark.gpu
def test_cupy_in_cupy_out(coalesced):
    import cupy

    A, B, C = inputs(33, 35, 17)
    result = coalesced(cupy.asarray(A), cupy.asarray(B))
    assert isinstance(result, cupy.ndarray)
    assert_close(cupy.asnumpy(result), A, B)
    device_C = cupy.asarray(C)
    assert coalesced(cupy.asarray(A), cupy.asarray(B), device_C, 2, 3) is device_C
    assert_close(cupy.asnumpy(device_C), A, B, C, 2, 3)
