"""Names and shapes of arrays, from symbols and source text."""

from __future__ import annotations

import pytest

from anywarp.trace.arrays import Shape, array_shapes, index_text
from anywarp.trace.parameters import parameter_names

SOURCE = """\
#ifndef BM
#define BM 64       // rows
#endif
#define ROW (BK + PAD)
#define BK (16 / 2)
constexpr int PAD = 4, Q = 1 << 3;
static const unsigned THREADS = 256u;
/* __shared__ float tile_c[3][3]; */
__global__ void f() {
    __shared__ __align__(16) float tile_a[2][BM][ROW], tile_b[BK][BM];
    __shared__ float4 vectors[Q * 2];
    extern __shared__ double all[];
    __shared__ float unknown[N][4];
    __shared__ volatile int flags[THREADS/32];
    float acc[4][4];
    __shared__ T typed[2][8], more[4];
}
"""


@pytest.mark.parametrize("name, size, shape", [
    ("tile_a", 2 * 64 * 12 * 4, Shape((2, 64, 12), 4)),
    ("tile_b", 8 * 64 * 4, Shape((8, 64), 4)),
    ("vectors", 256, Shape((16,), 16, 4)),
    ("all", 4096, Shape((512,), 8)),
    ("unknown", 160, Shape((10, 4), 4)),        # N is taken from the size
    ("flags", 32, Shape((8,), 4)),
    ("acc", 64, Shape((4, 4), 4)),
    ("typed", 128, Shape((2, 8), 8)), ("typed", 24, None), ("more", 8, Shape((4,), 2)),
    ("tile_a", 100, None),                      # another array of that name
    ("tile_c", 36, None),                       # in a comment
])  # fmt: skip
def test_shapes(name, size, shape):
    assert array_shapes(SOURCE, {name: size}).get(name) == shape


def test_macros_may_stand_for_others_several_deep_and_for_nothing_but_themselves():
    chain = "".join(f"#define N{n} (N{n + 1} * 2)\n" for n in range(8)) + "#define N8 3\n"
    source = chain + "#define LOOP LOOP\nfloat a[N0], b[LOOP][2], c[LOOP];"
    shapes = array_shapes(source, {"a": 4 * 3 * 256, "b": 64, "c": 64})
    assert shapes == {"a": Shape((768,), 4), "b": Shape((8, 2), 4), "c": Shape((16,), 4)}
    assert array_shapes(source, {"a": 4 * 3 * 128}) == {}


def test_the_first_definition_counts():
    shapes = array_shapes("#define BM 32\n" + SOURCE, {"tile_b": 8 * 32 * 4})
    assert shapes == {"tile_b": Shape((8, 32), 4)}


@pytest.mark.parametrize("offset, shape, text", [
    (0, Shape((4, 5), 4), "t[0][0]"), (4 * 13, Shape((4, 5), 4), "t[2][3]"),
    (80, Shape((4, 5), 4), "t[4][0]"), (-4, Shape((4, 5), 4), "t[-1][4]"),
    (24, Shape((4,), 16, 4), "t[1].z"), (6, Shape((4,), 4), "t[1] + 2 bytes"),
    (12, None, "t + 12 bytes"),
])  # fmt: skip
def test_index_text(offset, shape, text):
    assert index_text("t", offset, shape) == text


def test_parameter_names():
    source = """void sgemm(int); // sgemm(int M) {
        template <int BM> __global__ void
        sgemm(int M, const float* __restrict__ A, float *C, int* list[])\n{ other(1); }"""
    assert parameter_names(source, "sgemm") == ["M", "A", "C", "list"]
    assert parameter_names(source, "gemm") == []
