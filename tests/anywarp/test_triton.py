"""Triton's kernels, which Triton compiles here without a GPU."""

import numpy as np
import pytest

import anywarp

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        part_a = tl.load(a + m[:, None] * K + first + k[None, :])
        part_b = tl.load(b + (first + k)[:, None] * tl.num_programs(1) * BN + n[None, :])
        total = tl.dot(part_a, part_b, total, input_precision="tf32x3")
    tl.store(c + m[:, None] * tl.num_programs(1) * BN + n[None, :], total)


TYPES = {"x": "*fp32", "y": "*fp32", "n": "i32"}


def line_of(text: str) -> int:
    lines = open(__file__, encoding="utf-8").read().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def test_a_reduction_runs_and_its_counts_have_python_lines():
    kernel = anywarp.from_triton(softmax, TYPES, {"BLOCK": 256})
    x = np.random.default_rng(0).standard_normal((20, 200)).astype(np.float32)
    y = np.zeros_like(x)
    kernel(20, (x, y, 200), "interpreter")
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), atol=1e-7)
    costs = kernel.trace(20, (x, y, 200)).costs
    asked = {(place.line, place.kind, place.array) for place in costs if place.array in "xy"}
    load, store = (line_of(f"tl.{what}(") for what in ("load", "store"))
    assert asked == {(load, "load", "x"), (store, "store", "y")}
    assert kernel.sanitize(20, (x, y, 200)) == ()
    (finding, *_) = kernel.sanitize(21, (x, y, 200))
    assert finding.position.line == load and "past the end of x" in finding.message


@pytest.mark.parametrize("warps", [4, 8])
def test_a_product_on_tensor_cores_runs(warps):
    types = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "K": "i32"}
    kernel = anywarp.from_triton(product, types, {"BM": 64, "BN": 64, "BK": 32}, num_warps=warps)
    rng = np.random.default_rng(1)
    a, b = rng.random((128, 96), np.float32), rng.random((96, 128), np.float32)
    c = np.zeros((128, 128), np.float32)
    kernel((2, 2), (a, b, c, 96), "interpreter")
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)
    assert kernel.threads == 32 * warps and kernel.sanitize((2, 2), (a, b, c, 96)) == ()


def test_what_is_left_out_is_named():
    with pytest.raises(ValueError, match="softmax needs a type or a constant for n, BLOCK"):
        anywarp.from_triton(softmax, {"x": "*fp32", "y": "*fp32"})
