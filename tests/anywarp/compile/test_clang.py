"""clang, where there is no NVRTC: chosen, told apart, and of the same results and counts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anywarp
import kernels
from anywarp import CompileError, Kernel, NoCompiler, build
from anywarp.compile import clang, headers, nvrtc

ROOT = Path(__file__).parents[3]
there = pytest.mark.skipif(clang.program() is None, reason="ziglang is not installed")
# 11 leaves an array in local memory on purpose, which clang does not: its stores and loads count in
# these. 20 has branches that ptxas makes predicates if what they compute is little.
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


def test_products_become_multiply_adds_as_nvrtc_has_it():
    def line(op, *operands):
        return f"\t{op} \t{', '.join(operands)};"

    def fused(*lines):
        return list(filter(None, clang.fused("\n".join(lines)).split("\n")))

    product, total = line("mul.rn.f32", "%r1", "%a", "%b"), line("add.rn.f32", "%r2", "%c", "%r1")
    assert fused(product, total) == [line("fma.rn.f32", "%r2", "%a", "%b", "%c")]
    twice = line("add.rn.f32", "%r3", "%r1", "%d")
    again = line("fma.rn.f32", "%r3", "%a", "%b", "%d")
    assert fused(product, total, twice)[1:] == [again]  # as long as there are sums alone
    other = line("neg.f32", "%r4", "%r1")
    assert fused(product, total, other) == [x.replace("rn.", "") for x in (product, total, other)]
    assert len(fused(product, "$L__BB1_2:", total)) == 3
    assert len(fused(product, line("add.rn.ftz.f32", "%r2", "%c", "%r1"))) == 2
    assert fused("\tadd.rn.f32 %r1, %r2, %r3;") == ["\tadd.rn.f32 %r1, %r2, %r3;"]  # __fadd_rn


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
        ("__global__ void f(float* x) {\n x[0] = j0f(1); }", "kernel.cu:2: error: identifier"),
        ("__global__ void f(float* x) { x[0] = j0f(1); }", "if j0f is CUDA's, only NVRTC knows it"),
        ("struct D { __device__ ~D() { __trap(); } };\n__global__ void f() { __shared__ D d; }",
         "\nclang has no object with a destructor in shared memory: write an array"),
    ],
)  # fmt: skip
def test_what_it_lacks_is_named(hidden, source, words):
    with pytest.raises(CompileError, match=re.escape(words)):
        Kernel(source, "f")


@there
@pytest.mark.parametrize("wheels", [True, False])
def test_without_nvidias_headers_the_error_says_how_to_get_them(hidden, monkeypatch, wheels):
    found = headers.package
    monkeypatch.setattr(headers, "package", lambda name: found(name) * (name == "ziglang"))
    monkeypatch.setattr(headers, "toolkit_major", lambda root: None)
    monkeypatch.setattr(headers, "wheels", lambda: wheels)
    headers.folders.cache_clear()
    with pytest.raises(CompileError) as caught:
        Kernel("#include <cuda_fp16.h>\n__global__ void f() {}", "f")
    headers.folders.cache_clear()
    wanted = "'nvidia-cuda-runtime-cu12==12.9.*'"
    if wheels:
        assert f"\ncuda_fp16.h comes with pip install {wanted}, or" in str(caught.value)
    else:  # as on a Mac
        command = str(caught.value).rpartition(": pip install ")[2]
        assert "--platform manylinux2014_x86_64 --target " in command
        assert command.endswith(f"{wanted} 'nvidia-cuda-cccl-cu12==12.9.*'")


HALVES = """
#include <cuda_bf16.h>
#include <cuda_fp8.h>
__global__ void f(const half* a, const __half* b, float* y, half* z, __nv_bfloat16* w)
{
    int i = threadIdx.x;
    half s = a[i] * b[i] + __float2half(0.5f);
    half2 p = __hfma2(__halves2half2(a[i], b[i]), __float2half2_rn(3), __half2half2(s));
    y[i] = __half2float(s) + __low2float(p) * (float)__high2half(p) + float(hexp(a[i]));
    z[i] = __hadd(-(__hgt(a[i], b[i]) ? s : b[i] / s), __shfl_xor_sync(~0u, s, 1));
    __nv_bfloat16 v = w[i];
    w[i] = __hfma(v, v, __float2bfloat16(0.25f)) * v;
    y[i] += float(__nv_fp8_e4m3(y[i])) + float(w[i]);
}
"""
GROUPS = """
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void f(const float* x, float* y)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    y[block.thread_rank()] = cg::reduce(warp, x[threadIdx.x], cg::plus<float>());
    block.sync();
    if (threadIdx.x % 3 == 0) {
        auto some = cg::coalesced_threads();
        y[threadIdx.x] += some.shfl(x[threadIdx.x], 1) + some.size();
    }
}
"""
BARRIER = """
#include <cuda/barrier>
__global__ void f(const float* x, float* y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar[1];
    __shared__ float s[64];
    if (threadIdx.x == 0) init(bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), *bar);
    bar->arrive_and_wait();
    y[threadIdx.x] = s[63 - threadIdx.x];
}
"""
CUB = """
#include <cub/block/block_scan.cuh>
__global__ void f(const float* x, float* y)
{
    using Scan = cub::BlockScan<float, 64>;
    __shared__ Scan::TempStorage temporary;
    Scan(temporary).InclusiveSum(x[threadIdx.x], y[threadIdx.x]);
}
"""
# A cluster, and bounds, which clang cannot have both: the blocks read each other's memory.
CLUSTER = """
__global__ void __launch_bounds__(64) __cluster_dims__(2) f(const float* x, float* y)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x] * blockIdx.x;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned at = __cvta_generic_to_shared(&s[63 - threadIdx.x]), there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(1 - blockIdx.x));
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    y[blockIdx.x * 64 + threadIdx.x] = v;
}
"""
# Its parameter's address is taken, since the index is not known.
BY_VALUE = """
struct Options { char mode; double scale; int add[2]; short last; };
__device__ __noinline__ float use(Options o, int i) { return o.scale * i + o.add[i & 1] + o.last; }
__global__ void f(const float* x, float* y)
{
    y[threadIdx.x] = use({1, x[threadIdx.x], {2, 3}, 4}, threadIdx.x);
}
"""
CONTRACTED = """
__device__ __noinline__ float rest(float x) { int n = (int)(x * 100); return x * 100 - n; }
__global__ void f(const float* x, float* y)
{
    int i = threadIdx.x;
    float a = x[i], b = x[i ^ 1], c = x[i ^ 2], d = x[i ^ 4];
    y[i] = (a * d + b * c) + rest(a) + (c + d * 3) * b;
    y[64 + i] = __logf(2 + a) + c * 0.06f;
}
"""
# Of short words the place is not known; one of two pairs of loads is a float2's, whole.
SHARED = """
__global__ void f(const float* x, float* y)
{
    __shared__ unsigned short n[128];
    __shared__ float s[128];
    int i = threadIdx.x;
    n[i] = n[64 + i] = i, s[i] = s[64 + i] = x[i];
    __syncthreads();
    float v[2];
    if (y[127] == 0)
        *(float2*)v = *(const float2*)&s[2 * i];
    else
        v[0] = s[2 * i], v[1] = s[2 * i + 1];
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum += n[i / 8 * 8 + k];
    y[i] = sum + v[0] * v[1];
}
"""
QUICK = """
__global__ void f(const float* x, float* y)
{
    float v = x[threadIdx.x], s, c;
    sincosf(v, &s, &c);
    y[threadIdx.x] = tanf(v) + tanhf(v) + s * c + v / 3.7f + expf(v) + rsqrtf(v) + __fadd_rn(v, s);
}
"""


def same_by_both(monkeypatch, source, *arrays, grid=1, options=(), counted=True):
    """That results are, and counts."""

    def run():
        kernel, own = Kernel(source, "f", options), [x.copy() for x in arrays]
        counters = kernel.trace(grid, 64, own).counters
        return kernel.by_clang, [x.tobytes() for x in own], counted and dict(counters)

    (_, *by_nvrtc), (by_clang, *others) = both(monkeypatch, run)
    assert by_clang and by_nvrtc == others


@there
@pytest.mark.parametrize(
    "source, grid, options",
    [
        pytest.param(GROUPS, 1, (), marks=pytest.mark.slow),
        pytest.param(BARRIER, 1, (), marks=pytest.mark.slow),
        pytest.param(CUB, 1, (), marks=pytest.mark.slow),
        (CLUSTER, 2, ()),
        (CONTRACTED, 1, ()),
        (SHARED, 1, ()),
        (QUICK, 1, ("-use_fast_math",)),
    ],
    ids="groups barrier cub cluster contracted shared quick".split(),
)
def test_a_kernel_is_the_same_by_both(monkeypatch, source, grid, options):
    x = np.random.default_rng(0).random(64, np.float32)
    more = {"grid": grid, "options": options, "counted": source != CUB}
    same_by_both(monkeypatch, source, x, np.zeros(128, np.float32), **more)


@there
def test_halves_are_the_same_by_both(monkeypatch):
    a, b = np.random.default_rng(0).random((2, 64)).astype(np.float16)
    w = (b.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    same_by_both(monkeypatch, HALVES, a, b, np.zeros(64, np.float32), np.zeros_like(a), w)


@there
def test_a_struct_of_a_call_may_have_its_address_taken(hidden):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel = Kernel(BY_VALUE, "f")
    kernel(1, 64, (x, y))
    assert ".local .align 8" in kernel.ptx and np.array_equal(y, x * x + 2 + x % 2 + 4)


@there
def test_the_lanes_of_a_word_and_other_bits_are_the_same_by_both(monkeypatch):
    names = (
        "vadd vsub vaddss vaddus vsubss vsubus vabsdiffu vabsdiffs vhaddu vavgu vavgs vmaxs vmaxu"
    )
    names += " vmins vminu vcmpeq vcmpgts vcmpleu vsetne vsetlts vsadu vsads"
    calls = [f"__{name}{n}(a, b)" for name in names.split() for n in (2, 4)]
    calls += [f"__{name}{n}(a)" for name in "vneg vabs vnegss vabsss".split() for n in (2, 4)]
    calls += ["__hadd((int)a, (int)b)", "__urhadd(a, b)", "__fns(a, 3, 2)", "__dp2a_lo(a, b, 1u)"]
    calls += [
        "atomicInc(&y[-1], 5)",
        "(unsigned)__double2hiint(a * 0.1)",
        "atomicCAS_block(&y[-1], 1u, b)",
    ]
    text = "\n".join(f"*y++ = {call};" for call in calls)
    source = f"""__global__ void f(const unsigned* x, unsigned* all)
    {{
        unsigned a = x[threadIdx.x], b = x[threadIdx.x ^ 1];
        unsigned* y = all + 1 + {len(calls) + 1} * threadIdx.x;
        {text}
    }}"""
    x = np.random.default_rng(2).integers(0, 2**32, 64, np.uint32)
    x[:4] = 0x80007FFF, 0x7F80FF00, 0, 0xFFFFFFFF

    def run():
        y = np.zeros(65 * (len(calls) + 1), np.uint32)
        Kernel(source, "f")(1, 64, (x, y))
        return y.tolist()

    by_nvrtc, by_clang = both(monkeypatch, run)
    assert by_nvrtc == by_clang


@there
def test_the_version_is_that_of_cuda(hidden):
    source = (
        "#include <cuda.h>\n__global__ void f(int* x) { x[0] = CUDA_VERSION - CUDART_VERSION; }"
    )
    Kernel(source, "f")(1, 1, (x := np.ones(1, np.int32),))
    assert x[0] == 0


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
def test_what_the_interpreter_computes_is_called_once_for_the_same_number(hidden):
    source = "__global__ void f(const float* x, float* y) { y[0] = sinf(x[0]); y[1] = sinf(x[0]); }"
    assert Kernel(source, "f", ["-restrict"]).ptx.count("call.uni") == 2  # y may be x
    once = source.replace("* x", "* __restrict__ x").replace("* y", "* __restrict__ y")
    assert Kernel(once, "f").ptx.count("call.uni") == 1


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


@there
def test_memory_of_malloc_is_not_taken_for_registers(hidden):
    """LLVM knows malloc, and leaves out what nobody else can see, with the fault in it."""
    text = """extern "C" __global__ void f(int* y) {
        register int* x = (int*)malloc(8);
        x[0] = 1;
        y[threadIdx.x] = x[1];
        free(x);
    }"""
    found = Kernel(text, "f").sanitize(1, 32, (np.zeros(32, np.int32),))
    assert [(f.kind, f.position.line) for f in found] == [("uninitialised", 4)]


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
    + [("remquof(x, 0.7f, &n)", 0), ("normcdff(x)", 5), ("rhypotf(x, 2)", 1)]
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
@pytest.mark.parametrize("name", [name for name in LADDER if name < "16" or name[:2] == "20"])
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


def test_anywarp_has_what_clang_is_told():
    assert (clang.HEADERS / "prelude.h").is_file() and anywarp.__name__ in str(clang.HEADERS)
    assert "-O3" in " ".join(clang.told("flags")) and not any(
        "#" in x for x in clang.told("options")
    )
