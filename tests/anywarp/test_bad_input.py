"""Bad input of a kernel: every mistake is an error that says what is wrong and what to do.

Nothing may have run by then, so the interpreter and the launch are traps in all tests but those
of errors while running.
"""

import numpy as np
import pytest

from anywarp import gpu, ptx
from anywarp.build import CompileError
from anywarp.kernel import Kernel
from tests.stand_in import cupy_array

SOURCE = """extern "C" __global__ void f(float* x, int n, float a)
{
    if (threadIdx.x < n)
        x[threadIdx.x] = a;
}
"""
X = np.zeros(8, np.float32)


@pytest.fixture(scope="module")
def f():
    return Kernel(SOURCE, "f")


def test_a_syntax_error_in_a_kernel():
    with pytest.raises(CompileError) as caught:
        Kernel(SOURCE.replace("= a;", "= a"), "f", filename="mine.cu")
    assert 'mine.cu:5: error: expected a ";"' in str(caught.value)


ARGUMENTS = [
    ((X, 8), TypeError, "f takes 3 arguments, not 2"),
    (X, TypeError, r"args must be a tuple or list, not ndarray: \(x, n\)"),
    ((X, 8, 1, 1), TypeError, "f takes 3 arguments, not 4"),
    (([1.0], 8, 1), TypeError, r"f \(float\* x\): is a list, .* a pointer, a NumPy array"),
    ((1.0, 8, 1), TypeError, r"args\[0\] of f \(float\* x\): is a float"),
    ((X, 8.0, 1), TypeError, r"args\[1\] of f \(int n\): is a float, but must be a whole number"),
    ((X, X, 1), TypeError, r"args\[1\] of f \(int n\): is an array, but the kernel takes a value"),
    ((X, 2**32, 1), ValueError, r"args\[1\] of f \(int n\): 4294967296 does not fit in 32 bits"),
    ((X, -(2**31) - 1, 1), ValueError, r"args\[1\] .* does not fit in 32 bits"),
    ((X, 8, "1"), TypeError, r"args\[2\] of f \(float a\): is a str, but must be a number"),
    ((X, 8, 1j), TypeError, r"args\[2\] .* is a complex"),
    ((X, 8, None), TypeError, r"args\[2\] .* is a NoneType"),
    ((X, 8, X), TypeError, r"args\[2\] of f \(float a\): is an array"),
    ((X, 8, 1e39), ValueError, r"args\[2\] of f \(float a\): 1e\+39 is too large for 32 bits"),
    ((X, 8, 10**400), OverflowError, r"args\[2\] of f \(float a\): "),
    ((X[::2], 4, 1), ValueError, r"args\[0\] .* is not C-contiguous"),
    ((np.array([None]), 1, 1), TypeError, r"args\[0\] .* has dtype object"),
    ((np.array(["a"]), 1, 1), TypeError, r"args\[0\] .* has dtype <U1"),
]


@pytest.mark.parametrize("args, error, message", ARGUMENTS)
def test_arguments_of_a_kernel(f, trap, args, error, message):
    with pytest.raises(error, match=message):
        f(1, 8, args)


@pytest.mark.parametrize(
    "grid, block, error, message",
    [
        (0, 8, ValueError, "grid.x is 0; CUDA allows 1 to 2147483647"),
        ((4, 0), 8, ValueError, "grid.y is 0; CUDA allows 1 to 65535"),
        ((1, 65536), 8, ValueError, "grid.y is 65536; CUDA allows 1 to 65535"),
        (1, (8, 8, 65), ValueError, "block.z is 65; CUDA allows 1 to 64"),
        (1, (32, 33), ValueError, r"block \(32, 33\) has 1056 threads; .* at most 1024"),
        (1, (), ValueError, "block must be 1 to 3 numbers, not 0"),
        ((1, 1, 1, 1), 8, ValueError, "grid must be 1 to 3 numbers, not 4"),
        (1.0, 8, TypeError, "grid must be 1 to 3 whole numbers, not 1.0"),
        (1, "8", TypeError, "block must be 1 to 3 whole numbers, not '8'"),
    ],
)
def test_grid_and_block(f, trap, grid, block, error, message):
    with pytest.raises(error, match=message):
        f(grid, block, (X, 8, 1))


@pytest.mark.parametrize("size", [-1, 1.5, "48K"])
def test_dynamic_shared_memory(f, trap, size):
    with pytest.raises(ValueError, match="shared_mem must be a number of bytes, not"):
        f(1, 8, (X, 8, 1), shared_mem=size)


def test_a_kernel_on_the_gpu_without_one(f, trap, no_gpu):
    with pytest.raises(gpu.NoGPU, match="there is none"):
        f(1, 8, (X, 8, 1), device="gpu")
    with pytest.raises(gpu.NoGPU, match="there is none"):
        f(1, 8, (cupy_array((8,)), 8, 1))
    with pytest.raises(ValueError, match="device must be one of"):
        f(1, 8, (X, 8, 1), device="cpu")


def test_an_endless_loop():
    source = """extern "C" __global__ void forever(volatile int* x)
{
    while (*x == 0)
        ;
}"""
    with pytest.raises(ptx.StepLimit, match=r"kernel\.cu:3"):
        Kernel(source, "forever")(1, 32, (np.zeros(1, np.int32),), "interpreter", step_limit=10_000)


@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_a_step_limit_is_a_whole_number_above_0(f, limit):
    with pytest.raises(ValueError, match="step_limit must be a whole number above 0, not"):
        f(1, 8, (X, 8, 1), "interpreter", step_limit=limit)


@pytest.mark.parametrize(
    "word, given",
    [
        ("backend", "nvcc"),
        *((word, True) for word in ("translate_cucomplex", "jitify")),
    ],
)
def test_what_only_cupy_takes(word, given):
    with pytest.raises(ValueError, match=f"{word}.*{given}"):
        Kernel(SOURCE, "f", **{word: given})
    with pytest.raises(TypeError, match="unexpected keyword"):
        Kernel(SOURCE, "f", **{word: None}, unknown=1)


@pytest.mark.parametrize("way", ["trace", "sanitize"])
def test_cupy_arrays_are_not_for_the_instruments(f, trap, way):
    with pytest.raises(TypeError, match="the interpreter takes NumPy arrays, not CuPy"):
        getattr(f, way)(1, 8, (cupy_array((8,)), 8, 1))
