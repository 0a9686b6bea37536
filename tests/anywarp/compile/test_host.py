"""Programs pasted whole: their kernels compile, and the message says which lines were left out."""

import numpy as np
import pytest

from anywarp.build import CompileError
from anywarp.compile import host
from anywarp.kernel import Kernel

C = r"""
#include <stdio.h>
#include <sys/time.h>
#include <helper_cuda.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) exit(1); } while (0)
#define N 32
double seconds() { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec; }
void compare(float* a, float* b, int n);
__global__ void f(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 2 * threadIdx.x; }
void compare(float* a, float* b, int n) {
    for (int i = 0; i < n; i++) { if (fabs(a[i] - b[i]) > 1e-6) { printf("}"); } }  // {
}
int main(int argc, char** argv)
{
    float* d;
    CHECK(cudaMalloc(&d, N * sizeof(float)));
    f<<<1, N>>>(d, N);
    return 0;
}
"""
CPP = r"""
#include <iostream>
#include <vector>
#include <chrono>
#include <thrust/host_vector.h>
using namespace std;
constexpr int SIZE = 32;
static float held[SIZE];
float* pointer = NULL;
struct Timer {
    cudaEvent_t start;
    Timer() { cudaEventCreate(&start); }
};
struct Scale { float by; };
namespace reference {
// of the class of the host: { " '
template <typename T> void twice(std::vector<T>& x) { for (auto& each : x) each *= 2; }
}
namespace device {
__device__ float twice(float x) { return 2 * x; }
}
template <int B> __global__ void f(float* x, Scale s)
{
    x[threadIdx.x] = device::twice(threadIdx.x) * s.by;
}
extern "C" {
void launch(float* x) { f<SIZE><<<1, SIZE>>>(x, Scale{1}); }
}
std::vector<float> zeros(int n) { return std::vector<float>(n); }
int main() {
    auto start = std::chrono::high_resolution_clock::now();
    cout << "done" << endl;
}
"""
TORCH = r"""
#include <torch/extension.h>
__global__ void f(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 2 * threadIdx.x; }
torch::Tensor forward(torch::Tensor x) {
    f<<<1, 32>>>(x.data_ptr<float>(), x.numel());
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
"""


@pytest.mark.parametrize(
    "source, name, last, lines",
    [
        (C, "f", np.int32(32), "lines 3 to 4, 7 to 8, 10 to 19"),
        (CPP, "f<32>", b"\0\0\x80?", "lines 4 to 5, 8 to 13, 17, 27, 29 to 33"),
        (TORCH, "f", np.int32(32), "lines 2, 4 to 8"),
    ],
    ids=["C", "C++", "torch"],
)
def test_the_kernels_of_a_program_run(source, name, last, lines):
    with pytest.warns(UserWarning, match=f"^kernel.cu: host code is left out: {lines}$"):
        kernel = Kernel(source, name)
    x = np.zeros(32, np.float32)
    kernel(1, 32, [x, last], device="interpreter")
    assert x.tolist() == [2 * n for n in range(32)]
    (finding,) = kernel.sanitize(1, 32, [x[:31], last])
    at = next(n for n, text in enumerate(source.split("\n"), 1) if "x[threadIdx.x] = " in text)
    assert str(finding).startswith(f"kernel.cu:{at}: ")


def test_what_is_wrong_with_a_kernel_is_said_without_the_hosts_errors():
    with pytest.raises(CompileError) as caught:
        Kernel(C.replace("2 * threadIdx.x;", "2 * threadIdx.x"), "f")
    text = str(caught.value)
    assert 'kernel.cu:9: error: expected a ";"' in text and text.count("error:") == 1
    assert "host code is left out: lines 3 to 4, 7 to 8, 10 to 19; what a kernel uses needs" in text


@pytest.mark.parametrize(
    "source, advice",
    [
        (C.replace("= 2 * threadIdx.x", "= seconds()"), '9: error: identifier "seconds" is undef'),
        (TORCH.replace("float* x, int n", "torch::Tensor x, int n"), "pointers and numbers"),
        ("#include <helper_math.h>\n", "CUDA samples has it, pass its folder: options="),
        ('#include "mine.cuh"\n', 'mine.cuh: if yours, pass its folder: options=["-Ifolder"]'),
        (
            '__global__ void f() {}\nextern "C" __global__ void g() { f<<<1, 1>>>(); }',
            "A kernel cannot launch another here: launch both yourself",
        ),
        (
            'extern "C" __global__ void f() { __shfl_down(1, 1); }',
            "Since Volta: __shfl_sync and so on",
        ),
        ("texture<float, 1> t;", "CUDA 12 has no texture references: pass a cudaTextureObject_t"),
    ],
)
def test_what_cannot_be_mended_gets_advice(source, advice):
    with pytest.raises(CompileError) as caught:
        Kernel(source, "f")
    assert advice in str(caught.value)


def test_host_code_of_a_header_is_no_error(tmp_path):
    (tmp_path / "mine.h").write_text("extern int runs;\nvoid show(float* x);\n")
    text = f'#include "mine.h"\n#include <stdarg.h>\n{C}'
    (tmp_path / "mine.cu").write_bytes(
        text.replace("void compare", "// \xa9\nvoid", 1).encode("latin-1")
    )
    with pytest.warns(UserWarning, match="host code is left out: lines 2,"):
        kernel = Kernel(tmp_path / "mine.cu", "f")
    assert "-default-device" not in kernel.options
    (tmp_path / "torch").mkdir()  # a reader's own in the place of PyTorch's is no host code
    (tmp_path / "torch" / "half.h").write_text("using half_t = float;\nint seen();\n")
    own = '#include <torch/half.h>\nextern "C" __global__ void f(half_t* x) { *x = 1; }'
    Kernel(own, "f", [f"-I{tmp_path}"])


@pytest.mark.parametrize("first", ["#include <sys/time.h>", "using std::cin;"])
def test_an_own_header_of_host_code_alone_is_left_out(tmp_path, first):
    """As the common.h of courses is; one with a word of a GPU's stays, and is an error."""
    (tmp_path / "common").mkdir()
    header = tmp_path / "common" / "common.h"
    header.write_text(f"{first}\n#include <unistd.h>\nvoid fill(std::string x);\n")
    (tmp_path / "mine.cu").write_text(f'#include "../common/common.h"\n{C}')
    options = [f"-I{tmp_path / 'common'}"]
    with pytest.warns(UserWarning, match="host code is left out: lines 1,"):
        kernel = Kernel(tmp_path / "mine.cu", "f", options)
    x = np.zeros(32, np.float32)
    kernel(1, 32, (x, 32), "interpreter")
    assert x[31] == 62
    text = header.read_text()
    for other in ("__device__ int one() { return 1; }", "#define TILE 8", "typedef float real;"):
        header.write_text(f"{text}{other}\n")
        with pytest.raises(CompileError, match="common.h:1: "):
            Kernel(tmp_path / "mine.cu", "f", options)


def test_a_missing_word_in_a_source_that_is_no_program_is_an_error_as_ever():
    source = 'int twice(int x) { return 2 * x; }\nextern "C" __global__ void f(int* x) { *x = 1; }'
    with pytest.raises(CompileError, match="kernel.cu:1: error: A function without execution"):
        Kernel(source, "f")


@pytest.mark.parametrize(
    "source, parts",
    [
        ("int a = 1; float f() { if (a) { ; } } int b;", ["int a = 1;", "float f() {", "int b;"]),
        ("struct S { int a; } s; enum E { A };", ["struct S {", "enum E {"]),
        ("float x[2] = {1, 2}; // int y;\nint z;", ["float x[2] = {", "int z;"]),
        ('namespace a { namespace b { int x; } } extern "C" { int y; }', ["int x;", "int y;"]),
        (
            "template <int N>\nvoid f(int a = (1, 2)) { g(\"}\", '}'); }\nint a;",
            ["template", "int a"],
        ),
        ("#define X { \\\n } }\nint a;", ["int a;"]),
    ],
)
def test_declarations(source, parts):
    texts = [source[start:end] for start, end in host.declarations(source)]
    assert len(texts) == len(parts)
    assert all(text.startswith(part) for text, part in zip(texts, parts))


def test_types_of_stdint_are_there_unasked():
    source = 'extern "C" __global__ void f(uint8_t* x, int32_t n) { *x = n + INT8_MAX; }'
    x = np.zeros(1, np.uint8)
    Kernel(source, "f")(1, 1, (x, 7), device="interpreter")
    assert x == 134
    own = "typedef unsigned long uint64_t;\n"  # another type than ours: what compiles is left alone
    Kernel(own + 'extern "C" __global__ void f(uint64_t* x) { *x = 1; }', "f")


def test_a_path_is_read(tmp_path, monkeypatch):
    (tmp_path / "mine.cuh").write_text("#define TWO 2\n")
    text = '#include "mine.cuh"\nextern "C" __global__ void f(int* x) { x[0] = TWO; }\n'
    (tmp_path / "mine.cu").write_text(text)
    monkeypatch.chdir(tmp_path.parent)
    for path in tmp_path / "mine.cu", f"{tmp_path.name}/mine.cu":
        kernel, x = Kernel(path, "f"), np.zeros(1, np.int32)
        kernel(1, 1, [x], device="interpreter")
        assert x == 2 and kernel.source == text and kernel.filename == str(path)
    assert str(kernel.sanitize(1, 1, [x[:0]])[0]).startswith("mine.cu:2: ")
    with pytest.raises(FileNotFoundError, match=r"no_such\.cu"):
        Kernel("no_such.cu", "f")


@pytest.mark.parametrize("code", [None, b"__global__ void f() {}", 3])
def test_what_is_no_source(code):
    with pytest.raises(TypeError, match="code must be CUDA C.. or the path of its file, not "):
        Kernel(code, "f")
