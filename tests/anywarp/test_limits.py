"""Limits of a launch, the same for a call, a trace and the sanitizer; and of a run's length."""

from functools import partial

import numpy as np
import pytest

from anywarp import ptx
from anywarp.kernel import Kernel

X = np.zeros(32, np.float32)
SHARED = """extern "C" __global__ void f(float* x)
{
    extern __shared__ float dynamic[];
    __shared__ float tile[N];
    tile[threadIdx.x] = dynamic[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x ^ 1] + dynamic[threadIdx.x ^ 2];
}"""
NEVER_THE_SAME = """extern "C" __global__ void f(volatile float* x)
{
    for (unsigned i = 1; i != 2; i = 5 * i + 3)
        x[0] += 1;
}"""


@pytest.fixture(params=["__call__", "trace", "sanitize"])
def way(request):
    """The three ways into the interpreter."""
    more = {"device": "interpreter"} if request.param == "__call__" else {}
    return lambda kernel: partial(getattr(kernel, request.param), **more)


def shared(n):
    return Kernel(SHARED, "f", [f"-DN={n}"])


@pytest.mark.parametrize("grid, block, message", [
    ((1, 70000), 32, "grid.y is 70000; CUDA allows 1 to 65535"),
    (1, (1, 1, 65), "block.z is 65"),
    (1, (64, 32), "has 2048 threads"),
])  # fmt: skip
def test_grid_and_block(way, grid, block, message):
    with pytest.raises(ValueError, match=message):
        way(shared(32))(grid, block, (X,))


def test_a_block_of_1024_threads():
    source = 'extern "C" __global__ void f(int* x) { x[threadIdx.y * 32 + threadIdx.x] = 7; }'
    x = np.zeros(1024, np.int32)
    Kernel(source, "f")(1, (32, 32), (x,), device="interpreter")
    assert (x == 7).all()


def test_shared_memory_that_is_declared(way):
    way(shared(12 * 1024))(1, 32, (X.copy(),), shared_mem=128)  # 48 KiB
    with pytest.raises(ValueError, match=r"f declares 49156 bytes .* 49152 \(48 KiB\)"):
        way(shared(12 * 1024 + 1))(1, 32, (X,), shared_mem=128)


def test_shared_memory_in_all(way):
    most = 227 * 1024 - 4 * 32
    way(shared(32))(1, 32, (X.copy(),), shared_mem=most)
    with pytest.raises(ValueError, match=r"232321 bytes of dynamic .*at most 232448 \(227 KiB"):
        way(shared(32))(1, 32, (X,), shared_mem=most + 1)


def test_the_limit_of_steps(way):
    words = r"after 900 passes of this place(.|\n)*kernel\.cu:[34]"
    with pytest.raises(ptx.StepLimit, match=words):
        way(Kernel(NEVER_THE_SAME, "f"))(1, 1, (X.copy(),), step_limit=900)


def test_dtypes(way):
    with pytest.raises(TypeError, match=r"\(float\* x\): is an array of float64"):
        way(shared(32))(1, 32, (np.zeros(32),))
