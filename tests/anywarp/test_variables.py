"""`__constant__` and `__device__` variables: set and read by the names of the source."""

import warnings

import numpy as np
import pytest

from anywarp import gpu
from anywarp.kernel import Kernel
from tests.anywarp.test_kernel import DEVICES, FakeGPU

SOURCE = """
#define TAPS 3
struct Pair { float first; int second; };
__constant__ float taps[TAPS], scale;
static __constant__ unsigned char mask[2][2];
namespace ns { __constant__ double bias[1]; __device__ unsigned total = 7; }
namespace { __constant__ short hidden; }
__constant__ Pair pair;
__constant__ float4 corners[2];
__constant__ int zero[1] = {0};
__device__ float* pointer;

extern "C" __global__ void sum(double* out)
{
    double s = taps[threadIdx.x] * scale + mask[1][0] + ns::bias[0] + hidden + pair.first
             + pair.second + corners[1].y + zero[threadIdx.x];
    out[threadIdx.x] = s + atomicAdd(&ns::total, 1) + (pointer != nullptr);
}
"""
VALUES = {
    "taps": np.array([0.5, 1, 2], np.float32),
    "scale": 4,
    "mask": [[0, 1], [200, 3]],
    "ns::bias": [0.25],
    "hidden": -3,
    "pair": np.array([1, 0], np.float32),
    "corners": np.arange(8, dtype=np.float32).reshape(2, 4),
}


def filled():
    kernel = Kernel(SOURCE, "sum")
    for name, value in VALUES.items():
        kernel.set(name, value)
    return kernel


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_set_is_what_a_kernel_reads_and_get_gives(device):
    kernel = filled()
    out = np.zeros(1)
    kernel(1, 1, (out,), device)
    assert out[0] == 0.5 * 4 + 200 + 0.25 - 3 + 1 + 5 + 7
    for name, value in VALUES.items():
        if name != "pair":  # a struct, of bytes
            np.testing.assert_array_equal(kernel.get(name, device), value)
    assert kernel.get("ns::total", device) == 8 == kernel.get("total", device)
    kernel.set("taps", VALUES["taps"] * 2)  # between launches
    kernel(1, 1, (out,), device)
    assert out[0] == 1 * 4 + 200 + 0.25 - 3 + 1 + 5 + 8
    kernel.reset()
    assert kernel.get("ns::total", device) == 7 and not kernel.get("taps", device).any()


def test_types_and_extents_are_those_of_the_source():
    kernel = Kernel(SOURCE, "sum")
    found = {name: kernel.get(name, "interpreter") for name in (*VALUES, "ns::total", "pointer")}
    assert {name: (x.dtype.name, x.shape) for name, x in found.items()} == {
        "taps": ("float32", (3,)),
        "scale": ("float32", ()),
        "mask": ("uint8", (2, 2)),
        "ns::bias": ("float64", (1,)),
        "hidden": ("int16", ()),
        "pair": ("uint8", (8,)),
        "corners": ("float32", (2, 4)),
        "ns::total": ("uint32", ()),
        "pointer": ("uint8", (8,)),
    }


@pytest.mark.parametrize(
    "name, value, kind, message",
    [
        ("tap", 1, ValueError, "no variable tap: taps, scale, mask, .*ns::bias"),
        ("taps", np.zeros(3), TypeError, r"^taps: is an array of float64, .* taps\.astype"),
        ("taps", np.zeros(2, np.float32), ValueError, r"taps has 12 bytes, .* 8: float32 .*\(2,\)"),
        ("taps", np.ma.zeros(3, np.float32), TypeError, "taps: is a masked array"),
        ("hidden", 2.5, TypeError, "hidden: 2.5 is no int16"),
        ("mask", [[0, 1], [2, 256]], OverflowError, "mask: .*256 out of bounds"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name, value, kind, message):
    with pytest.raises(kind, match=message):
        Kernel(SOURCE, "sum").set(name, value)


def test_names_that_are_not_enough():
    kernel = Kernel(
        """
namespace a { __device__ int n; }
namespace b { __device__ int n; }
extern "C" __global__ void f() { a::n = 1; b::n = 2; }
""",
        "f",
    )
    with pytest.raises(ValueError, match="several variables n: a::n, b::n"):
        kernel.get("n", "interpreter")
    kernel(1, 1, (), "interpreter")
    assert (kernel.get("a::n", "interpreter"), kernel.get("b::n", "interpreter")) == (1, 2)
    other = Kernel(kernel.source.replace("int n", "float n", 1), "f")
    assert other.get("a::n", "interpreter").tolist() == [0, 0, 0, 0]  # which is which: bytes


@pytest.mark.parametrize("way", ["__call__", "trace", "sanitize"])
def test_a_constant_that_nobody_has_set_is_told_of_where_the_run_was_asked_for(way):
    kernel, out = Kernel(SOURCE, "sum"), np.zeros(1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(kernel, way)(1, 1, (out,))
    names = {str(each.message).split()[3].rstrip(",") for each in told}
    assert names == VALUES.keys()  # and not what the source sets to zero
    assert {each.filename for each in told} == {__file__}
    assert "kernel.set('taps', array)" in str(told[0].message)
    with pytest.warns(RuntimeWarning) as left:  # one is set: no more of that
        kernel.set("taps", VALUES["taps"])
        getattr(kernel, way)(1, 1, (out,))
    assert len(left) == len(VALUES) - 1


def test_what_no_kernel_here_reads_is_not_told_of():
    source = """
__constant__ float a[2], b[2];
extern "C" __global__ void of_a(float* x) { x[0] = a[threadIdx.x]; }
extern "C" __global__ void of_b(float* x) { x[0] = b[threadIdx.x]; }
"""
    kernel = Kernel(source, "of_a", names=("of_a", "of_b"))
    kernel.set("a", [1, 2])
    x = np.zeros(1, np.float32)
    kernel(1, 1, (x,), "interpreter")  # a warning is an error here
    assert x[0] == 1


def test_a_gpu_gets_what_was_set_before_it_was_loaded_there_and_after(monkeypatch):
    fake, written = FakeGPU(monkeypatch), []

    def write(loaded, symbol, data):
        written.append((loaded, symbol, data.tobytes()))

    monkeypatch.setattr(gpu, "write_variable", write)
    monkeypatch.setattr(gpu, "read_variable", lambda *about: np.full(about[2], 1, np.uint8))
    kernel = Kernel('__device__ int n; extern "C" __global__ void f(int* x) { *x = n; }', "f")
    x = np.zeros(1, np.int32)
    kernel.set("n", 1)
    assert not written
    for fake.number in (0, 1):
        kernel(1, 1, (x,), "gpu")
    assert [data for *_, data in written] == [b"\1\0\0\0"] * 2
    kernel.set("n", 2)
    assert [data for *_, data in written[2:]] == [b"\2\0\0\0"] * 2
    assert {id(loaded) for loaded, *_ in written} == set(map(id, kernel._loaded.values()))
    assert kernel.get("n") == 0x01010101 and kernel.get("n", "interpreter") == 2
