"""float8: cvt against what NVIDIA's header computes for GPUs that lack the instruction."""

import functools

import numpy as np
import pytest
from harness import vectors

from anywarp import build, ptx

SOURCE = """#include <cuda_fp8.h>
#define FROM(name, kind)                                                                      \\
    extern "C" __global__ void name##_from(const float2* x, const __half2* h,                  \\
                                           unsigned short* a, unsigned short* b) {             \\
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                          \\
        a[i] = __nv_cvt_float2_to_fp8x2(x[i], __NV_SATFINITE, kind);                            \\
        b[i] = __nv_cvt_halfraw2_to_fp8x2(h[i], __NV_SATFINITE, kind);                          \\
    }                                                                                          \\
    extern "C" __global__ void name##_to(const unsigned short* x, uint2* a) {                  \\
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                          \\
        __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(x[i], kind);                              \\
        a[i] = make_uint2(pair.x, pair.y);                                                     \\
    }
FROM(e4m3, __NV_E4M3)
FROM(e5m2, __NV_E5M2)
"""
COUNT = 1 << 16


@functools.cache
def results(kind, arch):
    """Of all f16 and as many f32, in pairs, to float8, and of all pairs of float8 to f16."""
    built = build.compile(SOURCE, "float8.cu", names=(f"{kind}_from", f"{kind}_to"), arch=arch)
    assert (f"{kind}x2" in built.ptx) == (arch == "compute_90")
    entries = ptx.parse(built.ptx).entries
    numbers = np.random.default_rng(8)
    h = np.arange(COUNT, dtype=np.uint16).view(np.float16)
    x = numbers.integers(0, 2**32, COUNT, dtype=np.uint32).view(np.float32).copy()
    x[: COUNT // 2] = h[: COUNT // 2]  # has all ties
    x[COUNT // 2 : -COUNT // 4] = numbers.normal(size=COUNT // 4) * 10.0 ** numbers.integers(
        -8, 4, COUNT // 4
    )
    a, b = np.zeros((2, COUNT // 2), np.uint16)
    ptx.run(entries[f"{kind}_from"], COUNT // 512, 256, [x, h, a, b])
    c = np.zeros((COUNT, 2), np.uint32)
    ptx.run(entries[f"{kind}_to"], COUNT // 256, 256, [np.arange(COUNT, dtype=np.uint16), c])
    return a, b, c


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_bits_are_those_of_nvidias_header(kind):
    for native, emulated in zip(results(kind, "compute_90"), results(kind, "compute_80")):
        assert np.array_equal(native, emulated)


ONE, MINUS, ZERO, NAN = 0x3F800000, 0xBF800000, 0x80000000, 0x7FC00000  # f32; ZERO is -0


@pytest.mark.parametrize(
    "instruction, types, rows",
    [
        ("cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b;", "b16 f32 f32", {
            (MINUS, ONE): 0x0038, (ONE, ZERO): 0x3800, (NAN, MINUS): 0x7F00,
        }),
        ("cvt.rn.satfinite.relu.e5m2x2.f16x2 %d, %a;", "b16 b32", {(0x3C00BC00,): 0x3C00}),
        ("cvt.rn.relu.f16x2.e4m3x2 %d, %a;", "b32 b16", {
            (0x38B8,): 0x3C000000, (0xFF7E,): 0x7FFF5F00,
        }),
    ],
)  # fmt: skip
def test_relu(instruction, types, rows):
    result, *sources = types.split()
    assert vectors(instruction, result, " ".join(sources), [*rows]) == [*rows.values()]


@pytest.mark.parametrize(
    "form", ["rn.e4m3x2.f32", "satfinite.e4m3x2.f32", "rn.satfinite.e4m3x2.e5m2x2", "rn.f32.e4m3x2"]
)
def test_forms_that_ptx_lacks(form):
    with pytest.raises(ptx.UnknownOpcode):
        vectors(f"cvt.{form} %d, %a, %b;", "b16", "f32 f32", [(ONE, ONE)])
