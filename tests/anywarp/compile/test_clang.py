"""clang, where there is no NVRTC: chosen, told apart, and of the same results and counts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anywarp
import kernels
from anywarp import CompileError, Kernel, NoCompiler, build
from anywarp.compile import clang, nvrtc

ROOT = Path(__file__).parents[3]
there = pytest.mark.skipif(clang.program() is None, reason="ziglang is not installed")
# Up to 15 no step has an instruction of Ampere or later; 11 leaves an array in local memory on
# purpose, which clang does not: its stores and loads count in these.
LADDER = [path.stem for path in sorted((ROOT / "kernels" / "cuda").glob("*.cu"))]
STACK = "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_{}.sum"


def forget():
    nvrtc.load.cache_clear()
    build.compile.cache_clear()


@pytest.fixture
def hidden(monkeypatch):
    """A machine without NVRTC, where nothing came compiled."""
    monkeypatch.setenv(nvrtc.CHOICE, "none")
    monkeypatch.setenv(clang.CHOICE, "clang")
    forget()
    yield
    forget()


def both(monkeypatch, make):
    """What `make` gives with NVRTC and with clang."""
    results = []
    for choice in ("nvrtc", "clang"):
        monkeypatch.setenv(clang.CHOICE, choice)
        forget()
        results.append(make())
    forget()
    return results


def test_the_wheel_is_the_one_that_is_asked_for():
    assert f'"{clang.WHEEL}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert clang.WHEEL in (ROOT / "requirements" / "compiler.txt").read_text("utf-8")
    assert clang.WHEEL in clang.advice()


@pytest.mark.parametrize(
    "choice, nvrtc_is_here, wheel, expected",
    [
        ("", True, True, False),
        ("", False, True, True),
        ("", False, False, False),
        ("nvrtc", False, True, False),
        ("clang", True, True, True),
    ],
)
def test_which_compiles(monkeypatch, choice, nvrtc_is_here, wheel, expected):
    monkeypatch.setenv(clang.CHOICE, choice)
    monkeypatch.setattr(clang, "program", lambda: Path("zig") if wheel else None)
    assert clang.chosen(nvrtc_is_here) is expected


def test_a_choice_that_cannot_be(monkeypatch):
    monkeypatch.setattr(clang, "program", lambda: None)
    monkeypatch.setenv(clang.CHOICE, "gcc")
    with pytest.raises(ValueError, match="it may be nvrtc or clang"):
        clang.chosen(True)
    monkeypatch.setenv(clang.CHOICE, "clang")
    forget()
    with pytest.raises(NoCompiler, match=f"pip install {clang.WHEEL}"):
        Kernel('extern "C" __global__ void of_none() {}', "of_none")


def test_without_either_the_error_names_both(monkeypatch):
    monkeypatch.setattr(clang, "program", lambda: None)
    monkeypatch.delenv(clang.CHOICE, raising=False)
    monkeypatch.setenv(nvrtc.CHOICE, "none")
    forget()
    with pytest.raises(NoCompiler, match=f"(?s){nvrtc.WHEEL}.*{clang.WHEEL}"):
        Kernel('extern "C" __global__ void of_neither() {}', "of_neither")
    forget()


def test_a_load_is_as_wide_as_what_is_used():
    text = (
        '\t.pragma "used_bytes_mask 0xfff";\n\tld.shared.v4.b32 \t{%r1, %r2, %r3, %r4}, [s+16];\n'
        '\t.pragma "used_bytes_mask 0xf0f0";\n\tld.shared.v4.b32 \t{%r1, %r2, %r3, %r4}, [s];\n'
        '\t.pragma "used_bytes_mask 0xfff";\n\tld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1];\n'
    )
    narrowed, rest = clang.narrow(text), text.split("\n", 2)[2]
    assert (
        narrowed
        == f"\tld.shared.v2.b32 {{%r1, %r2}}, [s+16];\n\tld.shared.b32 %r3, [s+24];\n{rest}"
    )


@there
def test_the_repr_says_who_compiled(monkeypatch):
    source = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] = 1; }'
    by_nvrtc, by_clang = both(monkeypatch, lambda: repr(Kernel(source, "f", ["-DA=1"])))
    assert by_nvrtc == "<Kernel f of kernel.cu -DA=1>"
    assert by_clang == "<Kernel f of kernel.cu -DA=1, compiled by clang>"


@there
def test_templates_by_name_and_what_is_not_there(hidden):
    source = "namespace n { template <int N, class T> __global__ void f(T* x) { x[0] = N; } }"
    kernel = Kernel(source, "n::f<3, float>")
    assert kernel.symbol == "_ZN1n1fILi3EfEEvPT0_" and "__anywarp" not in kernel.ptx
    kernel(1, 1, (x := np.zeros(1, np.float32),))
    assert x[0] == 3
    with pytest.raises(CompileError, match=r'the kernel asked for is not there: .*"g" is undef'):
        Kernel(source, "g")


@there
@pytest.mark.parametrize(
    "source, words",
    [
        ("#include <cuda_fp16.h>\n", "cuda_fp16.h is CUDA's, only NVRTC knows it"),
        ("__global__ void f(int* x) {\n x[0] = __vadd4(1, 2); }", "kernel.cu:2: error: identifier"),
        ("__global__ void __cluster_dims__(2) f() {}", "clang has no __cluster_dims__"),
    ],
)
def test_what_it_lacks_is_named(hidden, source, words):
    with pytest.raises(CompileError, match=re.escape(words)):
        Kernel(source, "f")


@there
def test_options_are_those_of_nvrtc(hidden):
    source = "__global__ void f(float* x) { x[0] = x[1] * x[2] + VALUE; x[3] = x[4] / x[5]; }"
    plain = Kernel(source, "f", ["-D VALUE=3", "--std=c++20"]).ptx
    assert "fma.rn.f32" in plain and "div.rn.f32" in plain
    quick = Kernel(source, "f", ["--define-macro=VALUE=3", "-use_fast_math", "-fmad=false"]).ptx
    assert "fma" not in quick and "div.approx.ftz.f32" in quick and ".ftz" in quick
    for spaced in ["-DVALUE=(1 + 2)"], ["-D", "VALUE=(1 + 2)"]:
        assert Kernel(source, "f", spaced).ptx == Kernel(source, "f", ["-DVALUE=3"]).ptx
    with pytest.raises(CompileError, match="clang has not NVRTC's option --frob: leave it out"):
        Kernel(source, "f", ["--frob"])


@there
def test_machine_code_is_nvrtcs(hidden):
    kernel = Kernel("__global__ void f(float* x) { x[0] = 1; }", "f")
    with pytest.raises(NoCompiler, match="NVRTC cannot be loaded"):
        kernel.resources()


FAULTY = """
__device__ float twice(const float* x) {
    return 2 * __ldg(x);
}
extern "C" __global__ void f(float* x, float* y) {
    y[threadIdx.x] = max(
        twice(&x[threadIdx.x]), 0.0f);
    atomicAdd(
        &y[40], 1.0f);
}
"""


@there
def test_a_finding_names_the_line_of_the_source(hidden):
    """What the prelude has inlined has the place of its call."""
    x = np.zeros(8, np.float32)
    found = Kernel(FAULTY, "f").sanitize(1, 32, (x, x.copy()))
    assert {(f.position.file, f.position.line) for f in found} == {
        ("kernel.cu", 3), ("kernel.cu", 6), ("kernel.cu", 8)
    }  # fmt: skip


MANY = """
#include <cmath>
#include <cstdio>
template <class T> struct Pair { T a, b; };
extern __shared__ char raw[];
__constant__ float4 table[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, 0, 0, a.w); }
extern "C" __global__ void __launch_bounds__(64)
f(float4* to, const float4* __restrict__ from, int* n)
{
    float4* s = (float4*)raw;
    s[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    float4 v = s[threadIdx.x ^ 1] + table[threadIdx.x & 1];
    v.y = expf(v.x) + tanhf(v.w) + std::sqrt(v.x) + __expf(v.w) + rsqrtf(v.x) + fmaf(v.x, 2, 3);
    v.z = __shfl_xor_sync(~0u, v.x, 3) + __shfl_down_sync(~0u, threadIdx.x, 2, 16);
    to[threadIdx.x] = v;
    atomicAdd(&n[0], __popc(__ballot_sync(~0u, v.x > 3)) + __clz(threadIdx.x) + min(3, 4));
    atomicMax(&n[1], (int)roundf(v.x * 100));
    atomicCAS(&n[2], 0, 7);
    n[3] = __syncthreads_count(v.x > 2);
    if (threadIdx.x == 9) printf("%d %s %.3f\\n", blockDim.x, "words", v.x);
}
"""


@there
def test_a_kernel_of_much_is_the_same_by_both(monkeypatch, capsys):
    values = np.random.default_rng(0).random((64, 4), np.float32)

    def run():
        to, n = np.zeros_like(values), np.zeros(4, np.int32)
        trace = Kernel(MANY, "f").trace(1, 64, (to, values, n), shared_mem=1024)
        counters = dict(trace.counters)
        del counters[STACK.format("st")]  # what printf prints is put together in local memory
        return to.tobytes(), n.tobytes(), counters, capsys.readouterr().out

    by_nvrtc, by_clang = both(monkeypatch, run)
    assert by_nvrtc == by_clang and "64 words" in by_clang[3]


@there
def test_a_shuffle_of_a_value_that_one_lane_alone_has(monkeypatch):
    """clang took the branch for the way of all lanes, as it may: passing what nobody set is no
    C++. But so kernels share what an atomic operation has given a lane."""
    source = """
__global__ void f(int* n, int* out)
{
    int first;
    if (threadIdx.x % 32 == 3)
        first = atomicAdd(n, 32);
    out[threadIdx.x] = __shfl_sync(~0u, first, 3);
}"""

    def run():
        n, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
        Kernel(source, "f")(1, 64, (n, out), device="interpreter")
        return n[0], out.tolist()

    by_nvrtc, by_clang = both(monkeypatch, run)
    assert by_nvrtc == by_clang == (64, 32 * [0] + 32 * [32])


@there
@pytest.mark.parametrize(
    "call, ulps",
    [("expf(x)", 0), ("tanhf(x)", 0), ("exp10f(x)", 0), ("roundf(x)", 0), ("__logf(x)", 0)]
    + [("sinf(x)", 1), ("powf(fabsf(x), 1.7f)", 1), ("erff(x)", 1), ("log1pf(x)", 1)]
    + [("(float)sin((double)x)", 0), ("remainderf(x, 0.7f)", 0), ("frexp(x, &n) + n", 0)]
    + [("nextafterf(x, 1)", 0), ("ilogbf(x)", 0), ("modff(x, &w) + w", 0), ("fdimf(x, 1)", 0)],
)
def test_functions_of_mathematics(monkeypatch, call, ulps):
    x = np.random.default_rng(1).normal(0, 3, 256).astype(np.float32)
    x[:8] = 0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 88.7, -104
    source = f"__global__ void f(float* a, float* y) {{ float x = a[threadIdx.x], w; int n; y[threadIdx.x] = {call}; }}"  # noqa: E501

    def run():
        Kernel(source, "f")(1, 256, (x, y := np.zeros_like(x)), "interpreter")
        return y

    by_nvrtc, by_clang = both(monkeypatch, run)
    finite = np.isfinite(by_nvrtc)
    assert np.array_equal(by_nvrtc[~finite], by_clang[~finite], equal_nan=True)
    distance = by_nvrtc[finite].view(np.int32) - by_clang[finite].view(np.int32)
    assert abs(distance).max() <= ulps


@there
@pytest.mark.parametrize("name", [name for name in LADDER if name < "16"])
def test_a_step_has_the_bits_and_counters_of_nvrtc(monkeypatch, name):
    def run():
        step = replace(kernels.step(name))  # one that has no kernel yet
        A, B, _ = kernels.inputs(M=128, N=128, K=64)
        C = step(A, B, device="interpreter")
        return step.kernel.by_clang, C.tobytes(), step.trace(128, 128, 64).counters

    (_, bits, counters), (by_clang, same_bits, others) = both(monkeypatch, run)
    assert by_clang and bits == same_bits
    stack = {STACK.format(kind) for kind in ("ld", "st")} if name == "11_thread_tile_8x8" else set()
    assert {x for x in counters if counters[x] != others[x]} == stack


@there
def test_an_attempt_leaves_open_what_machine_code_tells(hidden):
    mine = replace(kernels.step("07_thread_tile_1d TM=4"))
    came = mine.attempt(shared_bytes=32768, spills=0, wavefronts_per_fma=0.01)
    assert [row.passed for row in came.rows] == [True, True, True, True, None, False]
    assert came.rows[0].found == "by clang" and "NVRTC alone" in came.rows[4].found
    assert came.title.endswith("1 of 6 failed, 1 not told without NVRTC") and not came
    assert mine.attempt(spills=0)


def test_anywarp_has_the_prelude():
    assert clang.PRELUDE.is_file() and anywarp.__name__ in str(clang.PRELUDE)
