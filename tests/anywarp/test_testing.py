"""Assertions for other people's tests: what passes, and what the message of a failure names."""

import re
import subprocess
import sys

import numpy as np
import pytest
from building import ROOT

from anywarp import Kernel, TensorMap
from anywarp.testing import assert_clean, assert_counters, assert_same_bits

SOURCE = """
extern "C" __global__ void transpose(const float* in, float* out)
{
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
#ifdef SYNC
    __syncthreads();
#endif
    out[INDEX] = tile[threadIdx.x][threadIdx.y];
}
"""


def transpose(*options, index="threadIdx.y * 32 + threadIdx.x", pad=0):
    return Kernel(SOURCE, "transpose", [f"-DPAD={pad}", f"-DINDEX={index}", *options])


@pytest.fixture
def launch():
    return 1, (32, 32), (np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32))


def test_a_right_kernel_passes_and_its_arrays_stay(launch):
    kernel = transpose("-DSYNC", pad=1)
    assert_clean(kernel, launch, uninitialised=[1])
    assert_counters(kernel, (*launch, 64), bank_conflicts=0, wavefronts=(64, 64), shared_bytes=4288)
    assert not launch[2][1].any()
    kernel(*launch)
    assert_same_bits(launch[2][1].reshape(32, 32), launch[2][0].reshape(32, 32).T)


@pytest.mark.parametrize(
    "kernel, goals, message",
    [
        (
            {},
            {"bank_conflicts": 0},
            "transpose: 992 bank conflicts; bank_conflicts is to be at most 0\n"
            "  kernel.cu:9: load of tile by warp 0: 32 wavefronts, 31 conflicts, in bank 0: "
            "lane 0 tile[0][0], lane 1 tile[1][0], lane 2 tile[2][0], lane 3 tile[3][0], "
            "lane 4 tile[4][0], lane 5 tile[5][0], lane 6 tile[6][0], lane 7 tile[7][0] "
            "and 24 more",
        ),
        (
            {"index": "threadIdx.x * 32 + threadIdx.y", "pad": 1},
            {"sectors_per_request": (4, 8), "bank_conflicts": 0},
            "transpose: 18 sectors for each access of a warp to global memory; sectors_per_request "
            "is to be 4 to 8\n  kernel.cu:9: store of out by warp 0: 32 sectors: lane 0 out[0], "
            "lane 1 out[32], lane 2 out[64], lane 3 out[96], lane 4 out[128], lane 5 out[160], "
            "lane 6 out[192], lane 7 out[224] and 24 more",
        ),
        (
            {},
            {"operand_cycles_per_fma": 1, "registers": 1},
            "transpose: there is no multiply-add.*\ntranspose: [0-9]+ registers .* at most 1",
        ),
    ],
)
def test_a_missed_goal_names_line_and_lanes(launch, kernel, goals, message):
    with pytest.raises(AssertionError) as caught:
        assert_counters(transpose("-DSYNC", **kernel), launch, **goals)
    text = str(caught.value)
    assert text == message or re.fullmatch(message, text), text


def test_a_fault_names_line_and_threads(launch):
    with pytest.raises(AssertionError, match=r"^kernel\.cu:9: race: .*thread \(\d+, \d+, 0\)"):
        assert_clean(transpose(), launch)
    with pytest.raises(AssertionError, match=r"kernel\.cu:5: uninitialised: .* in\["):
        assert_clean(transpose("-DSYNC"), launch, uninitialised=[0])


def test_a_tensor_map_and_its_array_are_one_copy(launch):
    array, out = launch[2][0].reshape(32, 32), launch[2][1]
    source = 'extern "C" __global__ void f(const __grid_constant__ CUtensorMap m, float* x) {}'
    assert_clean(Kernel(f"#include <cuda.h>\n{source}", "f"), (1, 1, (TensorMap(array, 4), out)))


@pytest.mark.parametrize(
    "actual, expected, message",
    [
        (np.zeros((2, 3), "f4"), np.zeros((3, 2), "f4"), "actual is float32 of shape (2, 3), "),
        (np.zeros(2), np.zeros(2, "f4"), "actual is float64 of shape (2,), expected float32"),
        (
            np.array([[1, 2], [3, 4]], "f4"),
            np.array([[1, 2], [-3, 5]], "f4"),
            "actual[1, 0] is 3.0 (0x40400000), expected -3.0 (0xc0400000); "
            "2 of 4 elements have other bits",
        ),
        (np.array(0.0), np.array(-0.0), "actual[] is 0.0 (0x0000000000000000), expected -0.0 "),
        (np.array([1], ">i2"), np.array([1], "<i2"), "actual is >i2"),
    ],
)
def test_other_bits(actual, expected, message):
    with pytest.raises(AssertionError) as caught:
        assert_same_bits(actual, expected)
    assert str(caught.value).startswith(message)


def test_the_same_bits():
    assert_same_bits(np.array([np.nan, -0.0], "f4"), np.array([np.nan, -0.0], "f4"))
    assert_same_bits(np.zeros((0, 3)), np.zeros((0, 3)))
    assert_same_bits(np.arange(6).reshape(2, 3).T, np.arange(6).reshape(2, 3).T.copy())


def test_what_is_no_launch_or_goal(launch):
    kernel = transpose("-DSYNC")
    for wrong in (launch[:2], (*launch, 0, "gpu"), 4):
        with pytest.raises(TypeError, match="a launch is"):
            assert_clean(kernel, wrong)
    with pytest.raises(ValueError, match="no goal 'banks'"):
        assert_counters(kernel, launch, banks=0)


@pytest.mark.parametrize("old, new, failed", [
    ("", "", 0), ("i < n", "i <= n", 3), ("+ b[i]", "+ b[8 * i % n]", 2),
])  # fmt: skip
def test_the_example(tmp_path, old, new, failed):
    text = (ROOT / "examples" / "test_vector_add.py").read_text(encoding="utf-8")
    path = tmp_path / "test_vector_add.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    counts = ([f"{failed} failed"] if failed else []) + (
        [f"{3 - failed} passed"] if failed < 3 else []
    )
    assert ", ".join(counts) in ran.stdout.splitlines()[-1], ran.stdout
