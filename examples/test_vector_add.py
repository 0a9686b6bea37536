"""The tests of a kernel: right to the bit, without a fault, and as cheap as it is meant to be.

They need no GPU. `pip install "anywarp[nvrtc]" pytest`, then `pytest test_vector_add.py`.
"""

import numpy as np
import pytest

import anywarp
from anywarp.testing import assert_clean, assert_counters, assert_same_bits

SOURCE = """
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
N = 1000


@pytest.fixture(scope="module")
def add():
    return anywarp.RawKernel(SOURCE, "add")


@pytest.fixture
def launch():
    """Grid, block and arguments; c is not a number until the kernel writes it."""
    a, b = np.random.default_rng(0).random((2, N), dtype=np.float32)
    return 4, 256, (a, b, np.full(N, np.nan, np.float32), N)


def test_it_adds(add, launch):
    a, b, c, _ = launch[2]
    add(*launch)  # on the GPU, where there is one
    assert_same_bits(c, a + b)


def test_it_has_no_fault(add, launch):
    assert_clean(add, launch, uninitialised=[2])


def test_what_it_costs(add, launch):
    assert_counters(add, launch, sectors_per_request=4, bank_conflicts=0, registers=16)
