"""Products from the host's memory: in this process, and through a GPU that runs in any order."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpus import queued

from anywarp import gpu
from kernels import reference
from kernels.parallel import stream

SHAPES = [(64, 48, 32), (67, 71, 73), (1, 1, 1), (5, 3, 0), (0, 4, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("tile", [(16, 8), (100, 100), (7, 5)])
def test_the_product(shape, tile):
    if shape[0] > 60 and tile[0] == 7:
        shape = 20, 19, 18
    A, B, C = reference.inputs(*shape)
    reference.assert_close(stream.multiply(A, B, tile=tile, device="host"), A, B)
    before = C.copy()
    found = stream.multiply(A, B, C, 0.5, -2, tile=tile, device="host")
    assert found is C
    reference.assert_close(C, A, B, before, 0.5, -2)


@pytest.mark.parametrize("device", ["host", "gpu"])
@pytest.mark.parametrize("memory", [None, 192, 4096])
def test_a_sum_of_nothing(machine, device, memory):
    """K = 0, with the tiles that the memory permits."""
    machine(1)
    A, B, C = reference.inputs(9, 7, 0)
    more = {"memory": memory, "step": queued if device == "gpu" else None, "device": device}
    unread = np.full_like(C, np.nan)
    assert not stream.multiply(A, B, unread, **more).any()
    assert np.array_equal(stream.multiply(A, B, C.copy(), 0.5, -2, **more), -2 * C)


@pytest.mark.parametrize("beta", [0, -2])
def test_any_order_of_three_streams_gives_the_product(machine, beta):
    A, B, C = reference.inputs(24, 20, 28)
    for seed in range(10):
        machine(1, seed)
        found = C.copy()
        stream.multiply(A, B, found, 0.5, beta, tile=(7, 9), step=queued, device="gpu")
        reference.assert_close(found, A, B, C if beta else None, 0.5, beta)


def test_locked_memory_is_released(machine, monkeypatch):
    machine(1)
    import cupy

    seen = []
    runtime = cupy.cuda.runtime
    monkeypatch.setattr(runtime, "hostRegister", lambda at, size, _: seen.append(at))
    monkeypatch.setattr(runtime, "hostUnregister", seen.remove)

    def fails(*_):
        assert len(seen) == 3
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        stream.multiply(A, B, step=fails, tile=(8, 8), device="gpu")
    assert not seen


def test_the_memory_decides_the_tiles(machine):
    machine(1)
    A, B, _ = reference.inputs(40, 40, 40)
    plans = []

    def notes(a, b, c, alpha, beta):
        plans.append(c.shape)
        queued(a, b, c, alpha, beta)

    stream.multiply(A, B, memory=12 * 20**2, step=notes, device="gpu")
    assert set(plans) == {(20, 20)}


A, B, _ = reference.inputs(8, 8, 8)


@pytest.mark.parametrize("args, more, error, words", [
    ((A, B[:4]), {}, ValueError, "as many columns as B rows"),
    ((A.tolist(), B), {}, TypeError, "A must be a float32 array"),
    ((A, B.astype(float)), {}, TypeError, "B must be a float32"),
    ((np.ma.array(A), B), {}, TypeError, r"A\.filled\(0\)"),
    ((A.T, B), {}, ValueError, "A must be C-contiguous"),
    ((A, B), {"beta": 1}, ValueError, "C must be given"),
    ((A, B, A[:4]), {}, ValueError, r"C is \(4, 8\)"),
    ((A, B, A), {"tile": (4, 4)}, ValueError, "C and A overlap in memory"),
    ((A[:4], B, B[4:]), {}, ValueError, "C and B overlap in memory"),
    *(((A, B), {"memory": n}, ValueError, f"{n} bytes hold no tiles") for n in (0, 8)),
    ((A, B), {"memory": -4}, ValueError, "-4 bytes hold no tiles"),
    ((A, B), {"device": "tpu"}, ValueError, "auto, gpu, host"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(args, more, error, words):
    with pytest.raises(error, match=words):
        stream.multiply(*args, **more)


@pytest.mark.parametrize("device", ["host", "gpu"])
def test_a_read_only_c_is_refused_at_once(machine, device):
    """The GPU would write there all the same."""
    machine(1)
    C = np.ones((8, 8), np.float32)
    C.flags.writeable = False

    def runs(*_):
        raise AssertionError("a product")

    with pytest.raises(ValueError, match=r"C is read-only, .* pass C.copy\(\)"):
        stream.multiply(A, B, C, step=runs, tile=(4, 4), device=device)
    assert (C == 1).all()


def test_without_a_gpu_it_says_so(no_gpu):
    with pytest.raises(gpu.NoGPU, match="there is none"):
        stream.multiply(A, B, device="gpu")
    assert np.allclose(stream.multiply(A, B), A @ B)


def test_the_host_multiplies_where_it_is_told_to(machine, monkeypatch):
    machine(1)
    monkeypatch.setattr(gpu, "why_not", lambda: None)
    monkeypatch.setattr(stream, "Streams", {}.__getitem__)
    assert np.allclose(stream.multiply(A, B, device="host"), A @ B)
    for device in "auto", "gpu":
        with pytest.raises(TypeError):  # it would have been a stream of the GPU
            stream.multiply(A, B, device=device)
