"""Random matrices that every rank makes its own part of: the kernel and NumPy give one matrix."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.parallel import inputs
from kernels.parallel.schedule import Block


@pytest.mark.parametrize("matrix", ["A", "B"])
@pytest.mark.parametrize("top, left, whole", [(0, 0, 300), (70000, 60001, 131071)])
def test_the_kernel_gives_what_numpy_gives(matrix, top, left, whole):
    rows, columns = 3, 290
    out = np.empty((rows, columns), np.float32)
    args = (rows, columns, top, left, whole, inputs.SEEDS[matrix], out)
    inputs._kernel()((2, rows), inputs.THREADS, args, "interpreter")
    where = np.arange(top, top + rows), np.arange(left, left + columns)
    assert np.array_equal(out, inputs.elements(matrix, *where, whole))


def test_elements_are_uniform_and_of_one_matrix():
    found = inputs.elements("A", np.arange(400), np.arange(300), 300)
    assert found.min() >= -1 and found.max() < 1 and abs(found.mean()) < 0.01
    assert abs(found.var() - 1 / 3) < 0.01
    assert len(np.unique(found)) > 0.99 * found.size
    assert abs(np.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]) < 0.01
    part = inputs.elements("A", np.arange(100, 110), np.arange(7, 9), 300)
    assert np.array_equal(part, found[100:110, 7:9])
    assert not np.array_equal(found, inputs.elements("B", np.arange(400), np.arange(300), 300))


@pytest.mark.gpu
def test_a_gpu_gives_the_same():
    from anywarp import gpu

    block = Block("B", (5, 9), (70, 400))
    found = gpu.to_host(inputs.on_gpu(block, 1000))
    expected = inputs.elements("B", np.arange(5, 9), np.arange(70, 400), 1000)
    assert np.array_equal(found, expected)
