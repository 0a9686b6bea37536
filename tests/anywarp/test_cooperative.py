"""Cooperative launches: all blocks of a grid run at once, and wait for each other."""

import copy

import numpy as np
import pytest

from anywarp import gpu, ptx
from anywarp.kernel import Kernel
from anywarp.limits import LaunchError
from tests.anywarp.test_kernel import DEVICES, FakeGPU

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reversed(int* x, int n)
{
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    x[i] = i;
    grid.sync();
    int other = x[n - 1 - i];
    grid.sync();
    x[i] = other;
}
"""


@pytest.fixture(scope="module")
def cooperative():
    return Kernel(SOURCE, "reversed", enable_cooperative_groups=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("grid, block", [((4,), 64), ((3, 2), (8, 4)), ((132,), 1024)])
def test_the_blocks_of_a_grid_wait_for_each_other(cooperative, device, grid, block):
    n = int(np.prod(grid) * np.prod(block))
    x = np.zeros(n, np.int32)
    for kernel in (cooperative, copy.deepcopy(cooperative)):
        kernel(grid, block, (x, n), device)
        np.testing.assert_array_equal(x, np.arange(n)[::-1])
        x[:] = 0


def test_a_grid_as_large_as_a_gpu_has_room_for_and_no_larger(cooperative):
    """The chunks in which blocks run do not divide 132 multiprocessors of two blocks each."""
    x = np.zeros(264 * 1024, np.int32)
    cooperative(264, 1024, (x, x.size), "interpreter")
    np.testing.assert_array_equal(x, np.arange(x.size)[::-1])
    message = r"grid \(265,\) has 265, .* room for 132 times 2 \(limited by threads\)"
    with pytest.raises(LaunchError, match=message):
        cooperative(265, 1024, (x, x.size), "interpreter")
    with pytest.raises(LaunchError, match="132 times 1 .limited by shared memory"):
        cooperative(133, 64, (x, x.size), "interpreter", shared_mem=150_000)


def test_grid_sync_orders_what_the_sanitizer_sees(cooperative):
    x = np.zeros(256, np.int32)
    assert cooperative.sanitize(4, 64, (x, 256)) == ()
    racy = SOURCE.replace("    grid.sync();\n    x[i] = other", "    x[i] = other")
    (finding,) = Kernel(racy, "reversed", enable_cooperative_groups=True).sanitize(4, 64, (x, 256))
    assert finding.kind == "race"


def test_ptx_is_launched_cooperatively_too(cooperative):
    kernel = Kernel.from_ptx(cooperative.ptx, enable_cooperative_groups=True)
    for each in (kernel, copy.deepcopy(kernel)):
        x = np.zeros(256, np.int32)
        each(4, 64, (x, 256), "interpreter")
        np.testing.assert_array_equal(x, np.arange(256)[::-1])


@pytest.mark.parametrize("way", ["__call__", "trace", "sanitize"])
def test_without_it_the_message_says_what_to_do(way):
    x = np.zeros(256, np.int32)
    with pytest.raises(ptx.PTXError, match=r"trapped: .* enable_cooperative_groups=True"):
        getattr(Kernel(SOURCE, "reversed"), way)(4, 64, (x, 256))
    own = 'extern "C" __global__ void f(int* x) { if (*x == 0) __trap(); }'
    with pytest.raises(ptx.PTXError, match=r"the kernel trapped\n"):
        getattr(Kernel(own, "f"), way)(1, 1, (x,))


class Function:
    """Of CuPy."""

    def __init__(self):
        self.calls = []

    def __call__(self, *launch, **how):
        self.calls.append(how)


def test_a_gpu_is_told_how_to_launch(cooperative, monkeypatch):
    launch, function = gpu.launch, Function()
    FakeGPU(monkeypatch)
    monkeypatch.setattr(gpu, "load", lambda code, symbol: gpu.Loaded(symbol, function))
    monkeypatch.setattr(gpu, "launch", lambda *about: launch(about[0], *about[1:3], [], about[4]))
    monkeypatch.setattr(gpu, "driver_errors", lambda: ZeroDivisionError)
    x = np.zeros(256, np.int32)
    copy.deepcopy(cooperative)(4, 64, (x, 256), "gpu")
    with pytest.warns(RuntimeWarning, match=r"sync\(\) traps .*enable_cooperative_groups=True"):
        Kernel(SOURCE, "reversed")(4, 64, (x, 256), "gpu")
    assert function.calls == [{"enable_cooperative_groups": True}, {}]
