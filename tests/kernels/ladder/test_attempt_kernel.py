"""kernels.attempt_kernel: the same table for a kernel that is no step."""

from __future__ import annotations

import numpy as np
import pytest

import kernels

ADD = """
__global__ void add(int n, const float* a, const float* b, float* c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
N = 100


def attempt(source=ADD, grid=2, **goals):
    a, b = np.arange(N, dtype=np.float32), np.ones(N, np.float32)
    c = np.full(N, np.nan, np.float32)
    found = kernels.attempt_kernel(source, "add", grid, 64, (N, a, b, c), {"c": a + b}, **goals)
    assert np.isnan(c).all()  # what is passed stays as it is
    return found


def failed(found):
    return {row.what: row.found for row in found.rows if not row.passed}


def test_a_right_kernel_that_reaches_its_goals_passes():
    found = attempt(sectors_per_request=4, requests=(12, 12))
    assert found.passed
    assert [row.what for row in found.rows] == [
        "compiles", "right", "clean", "sectors_per_request", "requests",
    ]  # fmt: skip
    assert "12 accesses" in found.rows[-1].found


def test_a_missed_goal_fails_alone():
    assert set(failed(attempt(requests=11))) == {"requests"}


def test_elements_that_nobody_writes():
    assert failed(attempt(grid=1)) == {
        "right": "c[64] is nan, not 65; 36 of 100 elements are wrong"
    }


def test_a_missing_guard():
    found = failed(attempt(ADD.replace("if (i < n)", "")))
    assert set(found) == {"right", "clean"}
    assert "reads 4 bytes at a[100]" in found["clean"] and ":6" in found["clean"]


def test_a_reason_is_told_once():
    wide = ADD.replace("c[i] = a[i] + b[i]", "*(float2*)&c[i] = {a[i], b[i]}")
    found = failed(attempt(wide, requests=12, sectors_per_request=4))
    assert "misaligned 8-byte access" in found.pop("right")
    assert "misaligned" in found.pop("clean")
    assert found == dict.fromkeys(("requests", "sectors_per_request"), "not counted")


def test_what_does_not_compile_is_not_run():
    found = failed(attempt(ADD.replace("int i", "int j"), requests=12))
    assert found.pop("compiles").count("error")
    assert found == dict.fromkeys(("right", "clean", "requests"), "not run")


def test_a_goal_that_there_is_not():
    with pytest.raises(ValueError, match="no goal 'speed'"):
        attempt(speed=1)


def test_what_is_expected_of_no_array():
    renamed = ADD.replace("* c)", "* sums)").replace("c[i]", "sums[i]")
    reason = "c is expected, and the kernel has no array of that name"
    assert failed(attempt(renamed)) == {"right": reason}
    x = np.ones(N, np.float32)
    args = N, x, x, np.zeros(N, np.float32)
    found = kernels.attempt_kernel(ADD, "add", 2, 64, args, {"n": x, "c": x + x})
    assert failed(found) == {"right": reason.replace("c is", "n is")}


def test_what_is_expected_in_another_shape():
    x = np.ones(N, np.float32)
    args = N, x, x, np.zeros(N, np.float32)
    for values in 2, np.full(N + 1, 2, np.float32), np.full((N, 1), 2, np.float32):
        found = kernels.attempt_kernel(ADD, "add", 2, 64, args, {"c": values})
        words = f"c has the shape (100,); expected are {np.shape(values)}"
        assert failed(found) == {"right": words}
