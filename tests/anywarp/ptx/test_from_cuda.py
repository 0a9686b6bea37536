"""CUDA C++ through the real compiler, run by the interpreter, against Python."""

from __future__ import annotations

import math
import random
import struct

import exact
import numpy as np
import pytest
from exact import F32, as_float, f32, quotient, wrap
from harness import cuda, launch_built, run_cuda


def float_bits(array: np.ndarray) -> list[int]:
    return [int(x) for x in array.view(f"uint{8 * array.itemsize}").ravel()]


def uniform(rng: random.Random, count: int) -> np.ndarray:
    """float32 in [-1, 1), made in Python."""
    return np.array([as_float(f32(rng.uniform(-1, 1)), F32) for _ in range(count)], np.float32)


# --- the bits of a dot product ----------------------------------------------------------


DOT = """
extern "C" __global__ void dot(int M, int N, int K, const float* __restrict__ A,
                               const float* __restrict__ B, float* C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k)
        sum = fmaf(A[row * K + k], B[k * N + col], sum);
    C[row * N + col] = sum;
}
"""


def test_fma_chains_have_the_bits_of_exact_fma():
    M, N, K = 13, 21, 37
    rng = random.Random(7)
    a, b = uniform(rng, M * K), uniform(rng, K * N)
    c = np.zeros(M * N, np.float32)
    run_cuda(DOT, "dot", (3, 4), (8, 4), [np.int32(M), np.int32(N), np.int32(K), a, b, c])
    bits_a, bits_b = float_bits(a), float_bits(b)
    for row in range(M):
        for col in range(N):
            state = 0
            for k in range(K):
                state = exact.fma(bits_a[row * K + k], bits_b[k * N + col], state, F32)
            assert float_bits(c)[row * N + col] == state, (row, col)


TILED = """
#define T 16
extern "C" __global__ void tiled(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float a[T][T + 1], b[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.0f;
        b[threadIdx.y][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k)
            sum = fmaf(a[threadIdx.y][k], b[k][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""


def test_tiles_in_shared_memory_give_the_same_bits():
    M, N, K = 33, 20, 39
    rng = random.Random(8)
    a, b = uniform(rng, M * K), uniform(rng, K * N)
    plain, tiled = np.zeros(M * N, np.float32), np.full(M * N, np.nan, np.float32)
    sizes = [np.int32(n) for n in (M, N, K)]
    run_cuda(DOT, "dot", (3, 9), (8, 4), [*sizes, a, b, plain])
    run_cuda(TILED, "tiled", (2, 3), (16, 16), [*sizes, a, b, tiled])
    assert float_bits(tiled) == float_bits(plain)


# --- entries, templates, parameters -----------------------------------------------------


PARAMETERS = """
struct Shape { int size[3]; float scale; double shift; short tag; };
__constant__ float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f};
__device__ int offsets[3] = {10, 20, 30};

template <int N, typename T>
__global__ void scale(T* x) { x[threadIdx.x] = x[threadIdx.x] * T(N); }

extern "C" __global__ void one(int* out, int value) { out[threadIdx.x] += value; }
extern "C" __global__ void two(int* out, int value) { out[threadIdx.x] *= value; }

extern "C" __global__ void structs(Shape s, double* out, int which) {
    int i = threadIdx.x;
    out[i] = s.size[(i + which) % 3] * s.scale + s.shift + s.tag;
}
extern "C" __global__ void tables(float* out) {
    int i = threadIdx.x;
    out[i] = weights[i & 3] + offsets[i % 3];
}
extern "C" __global__ void kinds(signed char a, unsigned char b, short c, unsigned short d,
                                 long long e, unsigned long long f, float g, double h, bool i,
                                 double* out) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g;
    out[7] = h; out[8] = i ? 1 : 2;
}
"""


def test_two_entries_of_one_module():
    out = np.arange(5, dtype=np.int32)
    run_cuda(PARAMETERS, "one", 1, 5, [out, np.int32(3)])
    run_cuda(PARAMETERS, "two", 1, 5, [out, np.int32(-2)])
    assert out.tolist() == [-2 * (i + 3) for i in range(5)]


def test_templates_by_name_expression():
    built = cuda(PARAMETERS, names=("scale<3, float>", "scale<-5, long long>"))
    x, y = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.int64)
    launch_built(built, built.lowered["scale<3, float>"], 1, 6, [x])
    launch_built(built, built.lowered["scale<-5, long long>"], 1, 6, [y])
    assert x.tolist() == [3.0 * i for i in range(6)] and y.tolist() == [-5 * i for i in range(6)]


def test_structs_by_value():
    shape = struct.pack("<3ifdh6x", 3, -4, 5, 0.5, 100.25, -7)
    out = np.zeros(10)
    run_cuda(PARAMETERS, "structs", 1, 10, [shape, out, np.int32(1)])
    assert out.tolist() == [[3, -4, 5][(i + 1) % 3] * 0.5 + 93.25 for i in range(10)]


def test_constant_and_device_tables():
    out = np.zeros(12, np.float32)
    run_cuda(PARAMETERS, "tables", 1, 12, [out])
    weights, offsets = [0.5, 1.5, -2.0, 8.0], [10, 20, 30]
    assert out.tolist() == [weights[i & 3] + offsets[i % 3] for i in range(12)]


def test_parameters_of_every_type():
    out = np.zeros(9)
    args = [np.int8(-3), np.uint8(200), np.int16(-300), np.uint16(60000), np.int64(-(2**40)),
            np.uint64(2**63), np.float32(0.1), np.float64(-0.3), np.bool_(True), out]  # fmt: skip
    run_cuda(PARAMETERS, "kinds", 1, 1, args)
    assert out.tolist() == [-3, 200, -300, 60000, -(2**40), 2**63, as_float(f32(0.1), F32), -0.3, 1]


# --- control flow, arrays, arithmetic ---------------------------------------------------


PROGRAMS = """
extern "C" __global__ void switches(const int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
    switch (x[i]) {
        case 0: r = 17; break;
        case 1: r = x[i] * 5 + 1;
        case 2: r += 3; break;
        case 3: for (int k = 0; k < i; ++k) { if (k % 7 == 3) continue; r += k; } break;
        case 4: r = -1; while (r > -100) { if (r == -(i % 50)) break; --r; } break;
        case 5: r = i << (i & 7); break;
        case 6: r = __popc(i) + __clz(i) + __ffs(i) + (int)__brev(i); break;
        case 9: out[i] = 12345; return;
        default: r = x[i] / 3 + x[i] % 3;
    }
    out[i] = r;
}
extern "C" __global__ void sorter(const int* x, int* out) {
    int v[8];
    for (int i = 0; i < 8; ++i) v[i] = x[threadIdx.x * 8 + i];
    for (int i = 1; i < 8; ++i)
        for (int j = i; j > 0 && v[j - 1] > v[j]; --j) {
            int t = v[j]; v[j] = v[j - 1]; v[j - 1] = t;
        }
    int at = x[threadIdx.x * 8] & 7;
    out[threadIdx.x * 9 + 8] = v[at];
    for (int i = 0; i < 8; ++i) out[threadIdx.x * 9 + i] = v[i];
}
extern "C" __global__ void wide(const long long* x, const long long* y, long long* out) {
    int i = threadIdx.x;
    long long a = x[i], b = y[i];
    out[5 * i] = a / b;
    out[5 * i + 1] = a % b;
    out[5 * i + 2] = __mul64hi(a, b);
    out[5 * i + 3] = (long long)((unsigned long long)a / (unsigned long long)b);
    out[5 * i + 4] = (a << (b & 63)) ^ (a >> (b & 63));
}
extern "C" __global__ void constants(const int* x, int* out) {
    int i = threadIdx.x, a = x[i];
    unsigned u = a;
    int r[8] = {a / 7, a % 7, a / -10, a % 1000, a / 16, a % 16, (int)(u / 11), (int)(u % 12345)};
    for (int k = 0; k < 8; ++k) out[8 * i + k] = r[k];
}
extern "C" __global__ void maths(const float* x, float* out) {
    int i = threadIdx.x;
    float a = x[i];
    float r[8] = {expf(a), logf(a), sqrtf(a), 1.0f / a,
                  a / 3.7f, rsqrtf(a), sinf(a), powf(a, 1.5f)};
    for (int k = 0; k < 8; ++k) out[8 * i + k] = r[k];
}
"""


def switched(x: int, i: int) -> int:
    if x == 3:
        return sum(k for k in range(i) if k % 7 != 3)
    if x == 4:
        return -max(i % 50, 1) if i % 50 else -100
    if x == 6:
        reverse = int(f"{i:032b}"[::-1], 2)
        lowest = (i & -i).bit_length()
        return wrap(i.bit_count() + 32 - i.bit_length() + lowest + reverse, "s32")
    known = {0: 17, 1: 9, 2: 3, 5: i << (i & 7), 9: 12345}
    return known.get(x, quotient(x, 3) + x - 3 * quotient(x, 3))


def test_switch_loops_and_early_return():
    x = np.array([(i * 7 + i // 11) % 12 - 1 for i in range(400)], np.int32)
    out = np.zeros(400, np.int32)
    run_cuda(PROGRAMS, "switches", 10, 40, [x, out])
    assert out.tolist() == [switched(int(v), i) for i, v in enumerate(x)]


def test_local_arrays_with_run_time_indices():
    rng = random.Random(9)
    x = np.array([rng.randrange(-1000, 1000) for _ in range(8 * 50)], np.int32)
    out = np.zeros(9 * 50, np.int32)
    run_cuda(PROGRAMS, "sorter", 1, 50, [x, out])
    for t in range(50):
        row = sorted(int(v) for v in x[8 * t : 8 * t + 8])
        assert out[9 * t : 9 * t + 9].tolist() == row + [row[int(x[8 * t]) & 7]]


def test_64_bit_division_and_high_products():
    rng = random.Random(10)
    draw = lambda: wrap(rng.getrandbits(64) >> rng.randrange(60), "s64")
    rows = [(draw(), draw() or 1) for _ in range(200)] + [(-(2**63), 3), (2**63 - 1, -1), (5, -7)]
    x, y = (np.array(column, np.int64) for column in zip(*rows))
    out = np.zeros(5 * len(rows), np.int64)
    run_cuda(PROGRAMS, "wide", 1, len(rows), [x, y, out])
    for i, (a, b) in enumerate(rows):
        shifted = wrap(a << (b & 63), "s64") ^ (a >> (b & 63))
        unsigned = wrap(wrap(a, "u64") // wrap(b, "u64"), "s64")
        want = [quotient(a, b), a - b * quotient(a, b), a * b >> 64, unsigned, shifted]
        assert out[5 * i : 5 * i + 5].tolist() == want, (a, b)


def test_division_by_constants():
    rng = random.Random(11)
    rows = [wrap(rng.getrandbits(32), "s32") for _ in range(150)] + [0, -1, 7, -(2**31), 2**31 - 1]
    out = np.zeros(8 * len(rows), np.int32)
    run_cuda(PROGRAMS, "constants", 1, len(rows), [np.array(rows, np.int32), out])
    for i, a in enumerate(rows):
        u = wrap(a, "u32")
        want = [v for d in (7, -10, 1000, 16) for v in (quotient(a, d), a - d * quotient(a, d))]
        want = [want[0], want[1], want[2], want[5], want[6], want[7], u // 11, u % 12345]
        assert out[8 * i : 8 * i + 8].tolist() == want, a


@pytest.mark.parametrize("options", [(), ("--use_fast_math",)], ids=["exact", "fast"])
def test_mathematical_functions(options):
    rng = random.Random(12)
    x = np.array([rng.uniform(0.1, 6.0) for _ in range(100)], np.float32)
    out = np.zeros(800, np.float32)
    run_cuda(PROGRAMS, "maths", 1, 100, [x, out], options)
    for i, a in enumerate(float(v) for v in x):
        want = [math.exp(a), math.log(a), math.sqrt(a), 1 / a, a / as_float(f32(3.7), F32),
                a**-0.5, math.sin(a), a**1.5]  # fmt: skip
        for k, w in enumerate(want):
            # A few units in the last place; more where a fast function only bounds the
            # absolute error.
            limit = (1e-5 if options else 4e-7) * max(abs(w), 1 if options else 0.25)
            assert abs(float(out[8 * i + k]) - w) <= limit, (k, a)


# --- blocks that leave a loop one after the other ----------------------------------------


ROUNDS = """
extern "C" __global__ void rounds(const int* trips, float* out) {
    __shared__ float a[64], b[64];
    int row = threadIdx.x / 8, col = threadIdx.x % 8;
    float sum = 0;
    for (int trip = 0; trip < trips[blockIdx.x]; ++trip) {
        a[threadIdx.x] = trip + 1;
        b[threadIdx.x] = threadIdx.x;
        __syncthreads();
        for (int k = 0; k < 4; ++k)
            sum += a[k * 8 + row] * b[k * 8 + col];
        __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
"""


def test_blocks_with_fewer_rounds_than_others():
    """What a load lends of shared memory while all blocks run, it no longer does under a mask."""
    trips, out = np.array([3, 6, 4], np.int32), np.zeros((3, 8, 8), np.float32)
    run_cuda(ROUNDS, "rounds", 3, 64, [trips, out])
    sums = [sum(range(1, n + 1)) for n in trips.tolist()]
    assert (out == np.multiply.outer(sums, 4 * np.arange(8) + 48)[:, None]).all()
