"""float8: cvt against what NVIDIA's header computes for GPUs that lack the instruction."""

import functools

import numpy as np
import pytest
from harness import entry, run_body, vectors

from anywarp import RawKernel, build, ptx
from anywarp.trace.metrics import TENSOR

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


DECLARED = ".reg .b32 %r<30>; .reg .b16 %h<2>; .reg .f32 %f<20>; .reg .b64 %p, %q; .reg .pred %z;"
MOVED = """ld.param.u64 %p, [in]; mov.u32 %r29, %tid.x; mul.wide.u32 %q, %r29, 40;
add.u64 %p, %p, %q;
ld.global.u32 %r0, [%p]; ld.global.u32 %r1, [%p+4]; ld.global.u32 %r2, [%p+8];
ld.global.u32 %r3, [%p+12]; ld.global.u32 %r4, [%p+16]; ld.global.u32 %r5, [%p+20];
ld.global.v2.f32 {%f0, %f1}, [%p+24]; ld.global.v2.f32 {%f2, %f3}, [%p+32];"""
STORED = """ld.param.u64 %p, [out]; mul.wide.u32 %q, %r29, 16; add.u64 %p, %p, %q;
st.global.v4.f32 [%p], {%f4, %f5, %f6, %f7};"""


def as_sm_90_has_it(a, b, shape):
    """What ptxas makes of mma with 8-bit floats for sm_90, as nvdisasm of 12.9 and 13.0 shows it:
    F2FP.UNPACK_B of the lower halves of registers, HMMA with zeros, F2FP of the upper halves, HMMA
    with what came of the first, FADD."""
    count = 4 if shape == "m16n8k32" else 2
    lines, half = [], {"m16n8k32": "m16n8k16", "m16n8k16": "m16n8k8"}[shape]
    for n in range(6):
        kind = a if n < 4 else b
        lines.append(f"mov.b32 {{%h0, %h1}}, %r{n};")
        lines += [f"cvt.rn.f16x2.{kind}x2 %r{at}, %h{h};" for h, at in ((0, 6 + n), (1, 12 + n))]
    for first, c, d in ((6, "0f00000000, " * 4, 8), (12, "%f8, %f9, %f10, %f11, ", 12)):
        left = ", ".join(f"%r{first + n}" for n in range(count))
        right = ", ".join(f"%r{first + 4 + n}" for n in range(count // 2))
        to = ", ".join(f"%f{d + n}" for n in range(4))
        types = "row.col.f32.f16.f16.f32"
        lines.append(
            f"mma.sync.aligned.{half}.{types} {{{to}}}, {{{left}}}, {{{right}}}, {{{c[:-2]}}};"
        )
    return lines + [f"add.f32 %f{4 + n}, %f{n}, %f{12 + n};" for n in range(4)]


@pytest.mark.parametrize("shape", ["m16n8k32", "m16n8k16"])
@pytest.mark.parametrize("a, b", [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e5m2")])
def test_products_are_those_of_two_products_of_halves(a, b, shape):
    numbers = np.random.default_rng(3)
    x = numbers.integers(0, 256, (32, 32, 40), dtype=np.uint8)
    x[:16, :, :24] = x[:16, :, :24] & 0x8F | 0x30  # near one another
    x[:, :, 24:] = (numbers.normal(size=(32, 32, 4)) * 50).astype(np.float32).view(np.uint8)
    left = ", ".join(f"%r{n}" for n in range(4 if shape == "m16n8k32" else 2))
    right = "%r4, %r5" if shape == "m16n8k32" else "%r4"
    to, c = "{%f4, %f5, %f6, %f7}", "{%f0, %f1, %f2, %f3}"
    one = f"mma.sync.aligned.{shape}.row.col.f32.{a}.{b}.f32 {to}, {{{left}}}, {{{right}}}, {c};"
    results = []
    for body in ([one], as_sm_90_has_it(a, b, shape)):
        out = np.zeros((32, 32, 4), np.uint32)
        text = "\n".join([DECLARED, MOVED, *body, STORED])
        run_body(text, "u64 in, u64 out", 1, 1024, [x.reshape(-1), out])
        results.append(out)
    assert (results[0] == results[1]).all()
    finite = np.isfinite(results[0].view(np.float32))
    assert 0.3 < finite.mean() < 1


def test_a_product_is_two_instructions_of_the_machine():
    one = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, "
    one += "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};"
    kernel = RawKernel.from_ptx(entry(f"{DECLARED}\n{one}\n{one}", "u64 out"))
    counters = kernel.trace(3, 64, (np.zeros(1, np.uint32),)).counters
    assert counters[TENSOR] == 2 * 2 * 3 * 2
