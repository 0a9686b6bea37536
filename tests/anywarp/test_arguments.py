"""Arguments: converters from what the PTX and the source declare, arrays of every kind."""

import re

import numpy as np
import pytest

from anywarp import gpu, ptx
from anywarp.arguments import declared
from anywarp.kernel import Kernel
from anywarp.tensor_map import TensorMap

FILL = """extern "C" __global__ void fill(float* __restrict__ out, const float* in, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] + 1;
}"""


@pytest.fixture(scope="module")
def fill():
    return Kernel(FILL, "fill")


def test_parameters_are_read_from_the_ptx_alone():
    text = """.visible .entry a(
	.param .u64 .ptr .align 1 a_param_0,
	.param .align 4 .b8 a_param_1[12],
	.param .f32 a_param_2,
	.param .s16 a_param_3,
	.param .align 8 .u32 a_param_4[4]
)
{ nonsense }
.visible .entry ab() { ret; }
"""
    assert declared(text, "a") == (("u64", 8), ("b8", 12), ("f32", 4), ("s16", 2), ("b8", 16))
    assert declared(text, "ab") == ()


def pointer(type_: str, before: str = "") -> Kernel:
    return Kernel(f'{before}\nextern "C" __global__ void f({type_} x) {{}}', "f")


GOOD = [
    ("float*", "f4"), ("const float* __restrict__", "f4"), ("double*", "f8"), ("int*", "i4"),
    ("int*", "u4"), ("unsigned*", "i4"), ("unsigned char*", "i1"), ("bool*", "?"), ("char*", "u1"),
    ("unsigned long long*", "i8"), ("long int*", "i8"), ("short int*", "u2"), ("size_t*", "u8"),
    ("float2*", "c8"), ("float2*", "f4"), ("double2*", "c16"), ("float4*", "f4"), ("int4*", "i4"),
    ("void*", "f8"), ("float**", "u8"), ("float*", "V4"), ("Pair*", "i2"), ("real*", "f8"),
    ("Real*", "f4"), ("half*", "f2"), ("half*", "u2"), ("__nv_bfloat16*", "u2"),
]  # fmt: skip
BEFORE = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Pair { int first; float second; };
typedef double real;
using Real = float;
"""


@pytest.mark.parametrize("type_, dtype", GOOD)
def test_dtypes_that_fit_the_pointer(type_, dtype):
    before = BEFORE if re.match("half|__nv", type_) else BEFORE.partition("struct")[2]
    before = before if before.startswith("#") else "struct" + before
    pointer(type_, before).convert((np.zeros(4, dtype),))


BAD = [
    ("float*", "f8", r"float64, but the kernel takes float\*: pass x\.astype\(np\.float32\)$"),
    ("const float* __restrict__", "i8", r"int64, .*astype\(np\.float32\)$"),
    ("const int4*", "f2", r"float16, .*, or x\.view\(np\.int32\) for the bits"),
    ("float*", "i4", r"int32, .*x\.astype\(np\.float32\), or x\.view\(np\.float32\) for the bits"),
    ("double*", "f4", r"astype\(np\.float64\)$"),
    ("int*", "i8", r"int64, but the kernel takes int\*: pass x\.astype\(np\.int32\)$"),
    ("unsigned char*", "i4", r"astype\(np\.uint8\)"),
    ("long long*", "i4", r"astype\(np\.int64\)"),
    ("float*", "c8", r"complex64, .*view\(np\.float32\)"),
    ("float4*", "f8", "float64, but the kernel takes float4"),
    ("real*", "f4", r"float32, but the kernel takes real\*: pass x\.astype\(np\.float64\)"),
    ("int2*", "c8", "complex64"),
    ("int*", ">i4", r'>i4, .*x\.astype\(x\.dtype\.newbyteorder\("="\)\)'),
    ("void*", ">f8", "newbyteorder"),
]


@pytest.mark.parametrize("type_, dtype, message", BAD)
def test_dtypes_that_do_not(type_, dtype, message):
    found = pointer(type_, "typedef double real;")
    with pytest.raises(TypeError, match=rf"args\[0\] of f \(.* x\): .*{message}"):
        found.convert((np.zeros(4, dtype),))


def test_masks():
    with pytest.raises(TypeError, match=r"args\[0\] of f .* is a masked array, .*x\.filled\(0\)"):
        pointer("float*").convert((np.ma.zeros(2, np.float32),))


def test_half_precision():
    halves = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>"
    with pytest.raises(TypeError, match=r"float32, but the kernel takes half\*: .*np\.float16"):
        pointer("half*", halves).convert((np.zeros(2, np.float32),))
    with pytest.raises(TypeError, match="bits as an array of uint16"):
        pointer("__nv_bfloat16*", halves).convert((np.zeros(2, np.float16),))


def test_a_template_parameter_is_not_checked():
    source = "template <typename T> __global__ void f(T* x) {}"
    Kernel(source, "f<float>").convert((np.zeros(2),))


def test_an_array_of_no_dimensions(fill):
    out, x = np.array(0, np.float32), np.array(2, np.float32)
    fill(1, 1, (out, x, 1), "interpreter")
    assert out == 3 and out.shape == ()


@pytest.mark.parametrize("x", [np.arange(8, dtype="f4"), np.broadcast_to(np.float32(5), 8)])
def test_read_only_arrays_are_read_and_not_written(fill, x):
    x, out = x.view(), np.zeros(8, np.float32)
    x.flags.writeable = False
    fill(1, 8, (out, x, 8), "interpreter")
    assert (out == x + 1).all()
    before = x.copy()
    with pytest.raises(ptx.MemoryFault, match="read-only") as caught:
        fill(1, 8, (x, np.ones(8, np.float32), 8), "interpreter")
    assert "kernel.cu:5" in str(caught.value) and (x == before).all()


class Foreign:
    """An array of a library that knows DLPack, as PyTorch does."""

    def __init__(self, array, device=1, error=None):
        self.array, self.device, self.error = array, device, error

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **words):
        if self.error:
            raise self.error
        return self.array.__dlpack__(**words)


class OnGpu:
    """An array of a library that has CuPy's protocol alone, as Numba does."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": (8,), "typestr": "<f4", "data": (0, False), "version": 3}


def test_arrays_of_other_libraries_are_read_and_written_in_place(fill):
    out, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    fill(1, 8, (Foreign(out), Foreign(x), 8), "interpreter")
    assert out.tolist() == list(range(1, 9))
    assert fill.trace(1, 8, (Foreign(out), Foreign(x), 8)).shapes == {"out": (8,), "in": (8,)}
    assert fill.sanitize(1, 8, (Foreign(out), Foreign(x), 8), uninitialised=[1])
    assert TensorMap(Foreign(np.zeros((8, 8), np.float32)), 4).tile.box == (4, 4)


def test_a_read_only_array_of_another_library(fill):
    x = np.zeros(8, np.float32)
    x.flags.writeable = False
    with pytest.raises(ptx.MemoryFault, match="read-only"):
        fill(1, 8, (Foreign(x), np.ones(8, np.float32), 8), "interpreter")


@pytest.mark.parametrize(
    "given, error, message",
    [
        (Foreign(None, error=BufferError("use x.detach()")), TypeError, r"shared: use x\.detach"),
        (Foreign(None, error=RuntimeError("no such dtype.")), TypeError, r"dtype: pass its bits"),
        (Foreign(None, device=10), TypeError, "device of DLPack's kind 10"),
        (Foreign(np.zeros(8)), TypeError, "is an array of float64"),
        (Foreign(np.zeros(16, np.float32)[::2]), ValueError, "is not C-contiguous"),
    ],
)
def test_arrays_of_other_libraries_that_do_not_fit(fill, given, error, message):
    with pytest.raises(error, match=rf"args\[0\] of fill \(float\* .* out\):? .*{message}"):
        fill(1, 8, (given, np.ones(8, np.float32), 8))
    with pytest.raises(TypeError, match="is an array, but the kernel takes a value"):
        fill(1, 8, (np.ones(8, np.float32), np.ones(8, np.float32), given))


@pytest.mark.parametrize("x", [Foreign(None, device=2), OnGpu()])
def test_arrays_of_other_libraries_on_a_gpu_need_one(fill, x, no_gpu):
    with pytest.raises(gpu.NoGPU, match="there is none"):
        fill(1, 8, (x, np.ones(8, np.float32), 8))


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", ["__dlpack__", "__cuda_array_interface__"])
def test_arrays_of_other_libraries_on_the_gpu(fill, protocol):
    import cupy

    names = [protocol, *(["__dlpack_device__"] if protocol == "__dlpack__" else [])]
    out, x = cupy.zeros(8, np.float32), cupy.arange(8, dtype=np.float32)
    foreign = [
        type("Foreign", (), {name: getattr(array, name) for name in names})() for array in (out, x)
    ]
    fill(1, 8, (*foreign, 8))
    assert out.get().tolist() == list(range(1, 9))


@pytest.mark.parametrize("read_only", [0, 1])
def test_one_array_that_is_written_may_not_overlap_another(fill, read_only):
    buffer = np.arange(12, dtype=np.float32)
    arrays = [buffer[:8], buffer[4:]]
    arrays[read_only].flags.writeable = False
    words = r"\(float\* .*out\) and args\[1\] of fill .* overlap in memory"
    with pytest.raises(ValueError, match=words):
        fill(1, 8, (*arrays, 8), "interpreter")
    with pytest.raises(ValueError, match="argument 0 of fill and argument 1 of fill overlap"):
        ptx.run(fill.entry, 1, 8, [*arrays, np.int32(8)])


def test_arrays_that_are_only_read_may_overlap():
    buffer = np.arange(12, dtype=np.float32)
    x, y = buffer[:8], buffer[4:]
    add = Kernel(
        """extern "C" __global__ void add(const float* a, const float* b, float* c)
        { c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }""",
        "add",
    )
    x.flags.writeable = y.flags.writeable = False
    out = np.zeros(8, np.float32)
    add(1, 8, (x, y, out), "interpreter")
    assert out.tolist() == [2 * i + 4 for i in range(8)]


def test_an_array_is_written_that_is_read_through_a_read_only_view():
    source = FILL.replace("float* __restrict__ out, const float* in", "const float* in, float* out")
    array = np.arange(8, dtype=np.float32)
    view = array.view()
    view.flags.writeable = False
    Kernel(source, "fill")(1, 8, (view, array, 8), "interpreter")
    assert array.tolist() == list(range(1, 9))


def test_a_negative_number_for_an_unsigned_parameter_keeps_its_bits():
    found = Kernel('extern "C" __global__ void f(unsigned a, int b, float c) {}', "f")
    bits = found.convert((-1, 2**32 - 1, 1e-50))
    assert [x.tobytes() for x in bits] == [b"\xff" * 4, b"\xff" * 4, bytes(4)]
    largest = np.finfo(np.float32).max
    assert found.convert((0, 0, float(largest)))[2] == largest
    assert np.isinf(found.convert((0, 0, float("inf")))[2])
