"""Compiling with NVRTC: PTX, cubin, resources, names, and errors that point at the line."""

import re
import struct
import time

import pytest

from anywarp import build, capability, gpu
from anywarp.build import CompileError, NoCompiler
from anywarp.compile import headers, nvrtc, store
from anywarp.kernel import Kernel

GOOD = """
template <int SIZE>
__global__ void reverse(float* x)
{
    __shared__ float tile[SIZE];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[SIZE - 1 - threadIdx.x];
}

extern "C" __global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
"""


def test_ptx_without_a_gpu():
    built = build.compile(GOOD, "good.cu", names=("fill",))
    assert ".visible .entry fill(" in built.ptx
    assert re.search(r'\.file\s+1 ".*good\.cu"', built.ptx), "no line information"
    assert built.cubin is None and built.lowered == {"fill": "fill"}


def test_cubin_for_a_gpu():
    """Its tables, which the ELF header says where to find, lie in it to the last byte."""
    built = build.compile(GOOD, "good.cu", names=("fill",), arch="sm_75")
    assert ".target sm_75" in built.ptx and built.cubin.startswith(b"\x7fELF")
    for at, sizes in (32, 54), (40, 58):  # of segments and of sections
        (table,) = struct.unpack_from("<Q", built.cubin, at)
        size, count = struct.unpack_from("<2H", built.cubin, sizes)
        assert table + size * count <= len(built.cubin)
    # the time that ptxas took is left out, so that two compilations are the same
    assert "registers" in built.log and "time" not in built.log


def test_name_expressions():
    built = build.compile(GOOD, "good.cu", names=("reverse<32>", "reverse<64>"))
    small, large = built.lowered["reverse<32>"], built.lowered["reverse<64>"]
    assert small != large and all(f".entry {name}(" in built.ptx for name in (small, large))


def test_options_reach_the_compiler():
    source = "__device__ int value() { return VALUE; }"
    build.compile(source, "a.cu", ("-DVALUE=3",))
    with pytest.raises(CompileError, match="VALUE"):
        build.compile(source, "a.cu")


def test_headers_are_found_beside_the_steps(tmp_path, monkeypatch):
    (tmp_path / "common.cuh").write_text("#define ANSWER 42\n")
    monkeypatch.setattr(headers, "added", [tmp_path])
    source = '#include "common.cuh"\nextern "C" __global__ void f(int* x) { *x = ANSWER; }'
    assert ", 42;" in build.compile(source, "a.cu").ptx


def test_results_are_remembered():
    assert build.compile(GOOD, "good.cu") is build.compile(GOOD, "good.cu")
    assert build.compile(GOOD, "good.cu") is not build.compile(GOOD, "other.cu")


def test_resources():
    built = build.compile(GOOD, "good.cu", names=("reverse<100>", "fill"), arch="sm_90")
    tiled = build.resources(built, built.lowered["reverse<100>"])
    assert tiled.shared == 400 and 0 < tiled.registers <= 32
    assert (tiled.stack, tiled.spill_stores, tiled.spill_loads) == (0, 0, 0)
    assert build.resources(built, "fill").shared == 0
    with pytest.raises(ValueError, match="no ptxas report for 'absent'"):
        build.resources(built, "absent")
    with pytest.raises(ValueError, match="compile it for a GPU"):
        build.resources(build.compile(GOOD, "good.cu", names=("fill",)), "fill")


def test_resources_of_a_kernel_that_spills():
    source = """
    extern "C" __global__ void __launch_bounds__(1024) spill(float* x, int n)
    {
        float r[200];
        #pragma unroll
        for (int i = 0; i < 200; ++i) r[i] = x[i * n];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 200; ++i) x[i * n + r[199 - i] > 0.0f] = r[i] * r[(i * 7) % 200];
    }"""
    found = build.resources(build.compile(source, "spill.cu", arch="sm_90"), "spill")
    assert found.spill_stores > 0 and found.spill_loads > 0 and found.stack > 0
    assert found.registers == 64  # 65536 of them for 1024 threads


LOG = """ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas info    : Function properties for f
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 256 bytes smem, \
400 bytes cmem[0], 12 bytes cmem[2]
ptxas info    : Compiling entry function 'g' for 'sm_90'
ptxas info    : Used 10 registers
"""
FIRST = LOG.partition("ptxas info    : Compiling entry function 'g'")[0]
CALLED = (
    FIRST
    + """ptxas info    : Function properties for g
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
"""
)
RECURSIVE = CALLED.replace("8 bytes stack", "0 bytes stack")


@pytest.mark.parametrize("log, name, expected", [
    (LOG, "f", (40, 8, 16, 24, 256, 1)), (LOG, "g", (10, 0, 0, 0, 0)),
    # a called function's own frame counts only where ptxas adds it up, as in the driver
    (CALLED, "f", (40, 8, 20, 28, 256, 1)),
    (CALLED.replace("8 bytes cumulative", "24 bytes cumulative"), "f", (40, 24, 20, 28, 256, 1)),
    (RECURSIVE.replace("8 bytes cumulative stack size, ", ""), "f", (40, 0, 20, 28, 256, 1)),
])  # fmt: skip
def test_what_ptxas_says(log, name, expected):
    built = nvrtc.Compiled("", b"", log, {})
    assert build.resources(built, name) == build.Resources(*expected)


FUNCTIONS = """__device__ int f() { int unused; return 1; }

__device__ int g() { return 1 + ; }
__device__ int a = b;
static_assert(BM == 16, "BM must be 16");
"""


def test_every_error_names_file_line_and_source():
    with pytest.raises(CompileError) as caught:
        build.compile(FUNCTIONS, "bad.cu", ("-DBM=1",), names=("absent",))
    message = str(caught.value)
    assert message.startswith("bad.cu does not compile for compute_90 -DBM=1\n")
    assert "bad.cu:3: error: expected an expression\n" in message
    assert 'bad.cu:4: error: identifier "b" is undefined' in message
    assert 'bad.cu:5: error: static assertion failed with "BM must be 16"' in message
    assert "return 1 + ; }" in message
    # the compiler also warns, and misses the kernel; a message of errors leaves that out
    assert "unused" not in message and "nv_name_map" not in message


@pytest.mark.parametrize("name, reason", [("absent", "undefined"), ("reverse", "which instance")])
def test_unknown_kernel_name(name, reason):
    with pytest.raises(CompileError, match=f"good.cu: the kernel asked for .*{reason}"):
        build.compile(GOOD, "good.cu", names=(name,))


@pytest.mark.parametrize(
    "source", ["__global__ void f(int*);", "__device__ int f(int* x) { return *x; }"]
)
def test_a_kernel_without_a_body_is_not_there(source):
    with pytest.raises(CompileError, match="bodiless.cu: the kernel asked for is not there"):
        build.compile(source, "bodiless.cu", names=("f",))


def test_a_long_line_in_the_log_is_read_at_once():
    source = f"__global__ void f() {{ a; /* {'b' * 400000} */ }}"
    begin = time.process_time()
    with pytest.raises(CompileError, match='"a" is undefined'):
        build.compile(source, "long.cu", names=("f",))
    assert time.process_time() - begin < 10  # with what is quadratic, a minute


def test_bad_option_and_architecture():
    with pytest.raises(CompileError, match="unrecognized option --nonsense"):
        build.compile(GOOD, "good.cu", ("--nonsense",))
    with pytest.raises(CompileError, match="sm_999.*\n.*gpu-architecture"):
        build.compile(GOOD, "good.cu", arch="sm_999")


@pytest.fixture
def without_nvrtc(monkeypatch):
    """A machine that has no compiler."""

    def load():
        raise ImportError("no such library")

    monkeypatch.setattr(nvrtc, "load", load)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder of compilations for the book to come with; a function stores what it is given."""
    monkeypatch.setattr(store, "_given", [tmp_path])

    ours = nvrtc.Compiled("PTX of the book", None, "registers", {"fill": "fill"})

    def put(version=None, made=ours, arch="compute_90"):
        recipe = store.Recipe(GOOD, "good.cu", ("-DOPTION=1",), ("fill",), arch)
        path = tmp_path / store.name_of(recipe)
        store.write(path, store.Compilation(recipe, made, version or nvrtc.version()))

    return put


def built(arch="compute_90"):
    return build.compile.__wrapped__(GOOD, "good.cu", ("-DOPTION=1",), ("fill",), arch)


def test_without_nvrtc_the_compilations_of_the_book_are_taken(stored, monkeypatch, without_nvrtc):
    stored(version=(11, 0))
    assert built() == nvrtc.Compiled("PTX of the book", None, "registers", {"fill": "fill"})


def test_an_error_of_the_compiler_is_the_same_without_it(stored, without_nvrtc):
    stored((12, 9), nvrtc.Refused('good.cu(2): error: cannot open source file "cuda_fp16.h"'))
    with pytest.raises(CompileError) as caught:
        built()
    head, reason, advice = str(caught.value).split("\n")
    assert head == "good.cu does not compile for compute_90 -DOPTION=1"
    assert reason.startswith("good.cu:2: error: cannot open") and "pip install" in advice


@pytest.fixture
def another(stored, monkeypatch):
    """The stored compilation is of an NVRTC that is not the one here."""
    monkeypatch.delenv(nvrtc.CHOICE, raising=False)
    major, minor = nvrtc.version()
    stored(version=(major, minor + 1))
    stored(version=(major, minor + 1), arch="sm_90")


OURS, OWN = "PTX of the book", ".visible .entry fill("


def test_without_a_gpu_another_nvrtc_changes_nothing(another):
    assert built().ptx == built("sm_90").ptx == OURS


@pytest.mark.parametrize("arch, of_a_t4, of_an_h200", [
    ("compute_90", OWN, OWN),  # counted beside what runs
    ("sm_90", OURS, OWN),
])  # fmt: skip
def test_what_a_gpu_may_run_another_nvrtc_compiles_itself(
    another, monkeypatch, arch, of_a_t4, of_an_h200
):
    monkeypatch.setattr(gpu, "available", lambda: True)
    for here, expected in ("sm_75", of_a_t4), ("sm_90", of_an_h200):
        monkeypatch.setattr(gpu, "arch", lambda here=here: here)
        assert expected in built(arch).ptx


def test_an_nvrtc_that_is_named_compiles_itself(another, monkeypatch):
    nvrtc.load()
    monkeypatch.setenv(nvrtc.CHOICE, "/some/libnvrtc.so.99")  # loaded before
    assert OWN in built().ptx
    monkeypatch.setenv(nvrtc.CHOICE, "none")
    assert built().ptx == OURS


def test_they_are_taken_where_nvrtc_would_make_the_same(stored):
    """But machine code is compiled, where only PTX is stored."""
    stored()
    assert built().ptx == OURS and built("sm_90").machine_code.startswith(b"\x7fELF")


def test_without_nvrtc_the_error_says_what_is_missing_and_how_to_get_it(stored, without_nvrtc):
    with pytest.raises(NoCompiler) as caught:
        built("sm_90")
    message = str(caught.value)
    assert message.startswith("good.cu for sm_90 -DOPTION=1 did not come compiled")
    assert "NVRTC cannot be loaded (no such library)" in message
    assert message.endswith(nvrtc.advice())


@pytest.mark.parametrize("version, arch, wanted", [
    ((12, 9), "sm_90", True), ((12, 9), "compute_90", False), ((12, 8), "sm_90", False),
])  # fmt: skip
def test_no_cubin_of_nvrtcs_cache(monkeypatch, version, arch, wanted):
    """From 12.9 on NVRTC keeps cubins, and what it kept comes without the ptxas report."""
    given = []
    monkeypatch.setattr(nvrtc, "version", lambda: version)
    monkeypatch.setattr(
        nvrtc, "compile", lambda *a: given.extend(a[2]) or nvrtc.Compiled("", None, "", {})
    )
    build.compiled(store.Recipe(GOOD, "again.cu", (), ("fill",), arch))
    assert ("--no-cache" in given) is wanted


SPECIFIC = """// A fence
// compute capability: 9.0a
extern "C" __global__ void fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
"""


def test_compute_capability_90a():
    assert ".target sm_90a" in build.compile(SPECIFIC, "fence.cu", (), ("fence",)).ptx
    built = build.compile(SPECIFIC, "fence.cu", (), ("fence",), "sm_90")
    assert build.resources(built, "fence").registers > 0 and built.machine_code[:4] == b"\x7fELF"
    plain = SPECIFIC.replace("// compute capability: 9.0a\n", "")
    needs = capability.parse("9.0a")
    assert build.compile(plain, "fence.cu", (), ("fence",), "sm_90", needs).cubin is not None
    for arch in ("sm_80", "compute_100", "sm_100a"):
        with pytest.raises(ValueError, match=rf"^fence.cu: .* capability 9\.0a alone, .* {arch}$"):
            build.compile(SPECIFIC, "fence.cu", (), ("fence",), arch)


@pytest.mark.parametrize(
    "text", ("wgmma.fence.sync.aligned;", "setmaxnreg.inc.sync.aligned.u32 40;")
)
def test_without_the_directive_the_error_names_it(text):
    plain = SPECIFIC.replace("// compute capability: 9.0a\n", "")
    plain = plain.replace("wgmma.fence.sync.aligned;", text)
    assert text in build.compile(plain, "fence.cu", (), ("fence",)).ptx
    with pytest.raises(CompileError, match="add the line '// compute capability: 9.0a' to the"):
        build.compile(plain, "fence.cu", (), ("fence",), "sm_90")
    with pytest.raises(CompileError) as caught:
        build.compile(GOOD + "!", "good.cu", arch="sm_90")
    assert "9.0a" not in str(caught.value)


def test_a_header_that_has_changed_is_read_again(tmp_path):
    """Also in the process that has compiled with it before."""
    source = '#include "mine.h"\nextern "C" __global__ void f(int* x) { *x = N; }'
    for number in (3, 4):
        (tmp_path / "mine.h").write_text(f"#define N {number}\n")
        assert re.search(rf"\b{number};", Kernel(source, "f", [f"-I{tmp_path}"]).ptx)


def test_register_is_a_word_without_meaning():
    """C++17 has it no more, and older kernels have it before variables."""
    text = 'extern "C" __global__ void f(int* x) { register int y = 2; x[0] = y; }'
    kernel = Kernel(text, "f")
    assert kernel.options == () and "st.global" in kernel.ptx
