"""What the source says of a kernel's parameters."""

import pytest

from anywarp.trace.parameters import parameters


def one(declaration: str, before: str = ""):
    (found,) = parameters(f"{before}\n__global__ void f({declaration}) {{ }}", "f")
    return found


@pytest.mark.parametrize("declaration, name, text, element", [
    ("const float* __restrict__ x", "x", "const float* __restrict__", ("float", 4)),
    ("float *x", "x", "float*", ("float", 4)),
    ("unsigned   char * x", "x", "unsigned char*", ("int", 1)),
    ("long long unsigned* x", "x", "long long unsigned*", ("int", 8)),
    ("unsigned short int* x", "x", "unsigned short int*", ("int", 2)),
    ("int x[]", "x", "int*", ("int", 4)),
    ("std::uint16_t* x", "x", "std::uint16_t*", ("int", 2)),
    ("uchar4* x", "x", "uchar4*", ("int", 1)),
    ("int n = 3", "n", "int", None),
    ("float** x", "x", "float**", None),
    ("Pair<int, float>* x", "x", "Pair<int, float>*", None),
])  # fmt: skip
def test_one_parameter(declaration, name, text, element):
    assert one(declaration) == (name, text, element)


@pytest.mark.parametrize("before, element", [
    ("typedef float T;", ("float", 4)),
    ("using T = unsigned char;", ("int", 1)),
    ("#define T double", ("float", 8)),
    ("typedef float real; typedef real T;", ("float", 4)),
    ("#ifdef D\ntypedef double T;\n#else\ntypedef float T;\n#endif", None),
    ("template <typename T>", None),
    ("struct T { int a; };", None),
])  # fmt: skip
def test_aliases(before, element):
    assert one("T* x", before).element == element


def test_kernels_are_found_by_their_own_names():
    source = """
// __global__ void gemm(int old) {
template <int N> __global__ void __launch_bounds__(N) gemm(float* C, /* rows */ int M) { }
__global__ void other(int gemm) { gemm(1); }
"""
    assert [p.name for p in parameters(source, "math::gemm<4, 8>")] == ["C", "M"]
    assert parameters(source, "absent") == []
    twice = source + "__global__ void gemm(double* C) { }"
    assert parameters(twice, "gemm") == []


def test_a_macro_for_all_parameters():
    source = "#define ALL int n, \\\n    const float* x\n__global__ void f(ALL) { }\n"
    assert [(one.name, one.text) for one in parameters(source, "f")] == [
        ("n", "int"),
        ("x", "const float*"),
    ]
