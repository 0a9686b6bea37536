"""Headers: what pasted kernels include, the macros that nvcc knows unasked, what is missing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from anywarp import build
from anywarp.build import CompileError
from anywarp.compile import headers, nvrtc
from anywarp.kernel import Kernel

OWN = """cuda_runtime.h device_launch_parameters.h cuda.h stdio.h stdint.h stdlib.h string.h
stddef.h stdbool.h time.h math.h assert.h float.h limits.h cstdio cstdint cstdlib cstring cstddef
cmath cassert cfloat climits algorithm iostream vector string""".split()
WHEEL = """cuda_fp16.h cuda_bf16.h cuda_fp8.h math_constants.h cuComplex.h cuda_pipeline.h
vector_types.h""".split()
LIBCUDACXX = """cooperative_groups.h cuda/std/limits limits type_traits cuda/std/complex
cuda/barrier cub/block/block_reduce.cuh cub/warp/warp_reduce.cuh cub/cub.cuh""".split()


def compiles(header: str) -> None:
    build.compile(
        f'#include <{header}>\nextern "C" __global__ void f(int* x) {{ *x = 1; }}', "a.cu"
    )


@pytest.fixture
def without(monkeypatch):
    """A machine without NVIDIA's wheels, CuPy's headers and toolkits."""
    monkeypatch.setattr(headers, "package", lambda name: [])
    monkeypatch.setattr(headers, "toolkit_major", lambda root: None)
    for cached in (headers.folders, build.compile):
        cached.cache_clear()
    yield
    for cached in (headers.folders, build.compile):
        cached.cache_clear()


@pytest.mark.parametrize("header", OWN)
def test_headers_of_pasted_code_need_nothing_installed(without, header):
    compiles(header)


@pytest.mark.parametrize("header", WHEEL + LIBCUDACXX)
def test_headers_of_the_wheel_and_of_cupy(header):
    compiles(header)


def test_what_programs_take_of_cub():
    """<cub/cub.cuh> has what blocks do, and the operators that CUB 3 has no more."""
    source = """#include <cub/cub.cuh>
    extern "C" __global__ void f(int* x) {
        using Scan = cub::BlockScan<int, 64>;
        __shared__ Scan::TempStorage shared;
        Scan(shared).InclusiveScan(x[threadIdx.x], x[threadIdx.x], cub::Max());
    }"""
    x = np.arange(64, dtype=np.int32) * 37 % 64
    expected = np.maximum.accumulate(x)
    Kernel(source, "f")(1, 64, [x], device="interpreter")
    assert np.array_equal(x, expected)


def test_ours_ask_for_no_header_behind_them():
    """NVRTC 13.5 does not know `__has_include_next`."""
    ours = [path for path in headers.OURS.rglob("*") if path.is_file()]
    assert len(ours) > 20
    assert not [path for path in ours if "include_next" in path.read_text("utf-8")]


def test_all_together():
    every = "".join(f"#include <{name}>\n" for name in OWN + WHEEL[:2] + LIBCUDACXX)
    build.compile(every + 'extern "C" __global__ void f(int* x) { *x = 1; }', "a.cu")


def test_names_that_nvcc_knows_unasked(without):
    source = """extern "C" __global__ void f(float* x, uint* y)
{
    constexpr float least = -INFINITY;
    x[0] = INFINITY; x[1] = NAN; x[2] = M_PI; x[3] = std::sqrt(x[3]); x[4] = least;
    y[0] = INT_MAX; y[1] = UINT_MAX;
}"""
    x, y = np.full(5, 16, np.float32), np.zeros(2, np.uint32)
    Kernel(source, "f")(1, 1, (x, y), "interpreter")
    assert x[[0, 2, 3, 4]].tolist() == [np.inf, np.float32(np.pi), 4, -np.inf] and np.isnan(x[1])
    assert y.tolist() == [2**31 - 1, 2**32 - 1]


def test_the_version_that_kernels_ask_for():
    """Without it they take what GPUs before Volta had, such as `__shfl_xor`."""
    source = """#include <cuda.h>
    extern "C" __global__ void f(int* x) { x[0] = CUDA_VERSION; x[1] = CUDART_VERSION; }"""
    x = np.zeros(2, np.int32)
    Kernel(source, "f")(1, 1, (x,), "interpreter")
    assert x.tolist() == [nvrtc.version()[0] * 1000 + nvrtc.version()[1] * 10] * 2


def test_values_of_the_headers_own_macros():
    source = """#include <float.h>
#include <limits>
#include <stdint.h>
#include <algorithm>
extern "C" __global__ void f(double* x, int64_t* y)
{
    x[0] = FLT_MAX; x[1] = FLT_MIN; x[2] = FLT_EPSILON; x[3] = DBL_MAX; x[4] = DBL_MIN;
    x[5] = DBL_EPSILON; x[6] = std::numeric_limits<float>::max(); x[7] = std::max(1.0, 2.0);
    y[0] = INT8_MIN; y[1] = UINT16_MAX; y[2] = INT32_MIN; y[3] = INT64_MAX; y[4] = INT64_MIN;
    y[5] = INT64_C(-5) + UINT32_C(4294967295) + INT8_C(1); y[6] = UINT64_C(0x8000000000000000) >> 1;
}"""
    x, y = np.zeros(8), np.zeros(7, np.int64)
    Kernel(source, "f")(1, 1, (x, y), "interpreter")
    single, double = np.finfo(np.float32), np.finfo(np.float64)
    assert x.tolist() == [
        *map(float, (single.max, single.tiny, single.eps)),
        *map(float, (double.max, double.tiny, double.eps)),
        float(single.max),
        2.0,
    ]
    assert y.tolist() == [-128, 65535, -(2**31), 2**63 - 1, -(2**63), 2**32 - 5, 2**62]


@pytest.mark.parametrize("header, wheel", [
    ("cuda_fp16.h", r"'nvidia-cuda-runtime(-cu12)?=="),
    ("cuda/barrier", r"'nvidia-cuda-cccl(-cu12)?=="),
    ("crt/mma.h", r"'nvidia-cuda-(nvcc-cu12|crt)=="),
    ("curand_kernel.h", r"nvidia-curand(-cu12)?( \(170 MB\))?, or"),
])  # fmt: skip
def test_a_header_that_nobody_has_names_the_wheel(without, header, wheel):
    with pytest.raises(CompileError, match=f"\n{re.escape(header)} comes with pip install {wheel}"):
        compiles(header)


def test_a_header_of_no_wheel_gets_no_advice():
    with pytest.raises(CompileError) as caught:
        compiles("mine.cuh")
    assert "pip install" not in str(caught.value)
    assert headers.advice("cuda_fp16.h", "13.1").startswith(
        "cuda_fp16.h comes with pip install 'nvidia-cuda-runtime==13.1.*'"
    )


@pytest.mark.parametrize("header, advice", [
    ("cub/device/device_scan.cuh", "what <cub/cub.cuh> has here"),
    ("thrust/complex.h", "Thrust is for the host; <cuda/std/complex>"),
])  # fmt: skip
def test_headers_for_nvcc_name_those_for_kernels(header, advice):
    with pytest.raises(CompileError, match=f"\n(Of CUB, kernels have )?{re.escape(advice)}"):
        compiles(header)


def test_what_takes_the_place_of_a_header_of_the_host():
    assert "pip install 'nvidia-cuda-crt==13.1.*', or" in headers.advice("crt/mma.h", "13.1")
    assert headers.advice("iterator").endswith("may have it as <cuda/std/iterator>")
    for header in ("typeinfo", "curand.h", "pthread.h"):
        assert headers.advice(header).endswith("is for the host: leave it out")
    assert headers.advice("cublas_v2.h") == "cublas_v2.h is for the host: leave it out"


def test_a_toolkit_of_another_major_version_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "package", lambda name: [])
    include = tmp_path / "include"
    include.mkdir()
    (include / "cuda.h").write_text("#define CUDA_VERSION 12040\n")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert headers.toolkit_major(tmp_path) == 12 and headers.toolkit_major(include) is None
    assert include in headers.folders.__wrapped__(12)
    assert include not in headers.folders.__wrapped__(13)


def test_a_home_that_cannot_be_written(tmp_path):
    """A file in place of the home directory: nobody, not even root, can make a folder in it."""
    home = tmp_path / "home"
    home.write_text("")
    code = (
        "import kernels, numpy as np; x = np.zeros(1, np.float32); "
        "k = kernels.Kernel('extern \"C\" __global__ void f(float* x) { *x = 2; }', 'f'); "
        "k(1, 1, (x,), 'interpreter'); assert k.cubin()[:4] == b'\\x7fELF'; print(x[0])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "CUPY_CACHE_DIR"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        env=environment | {"HOME": str(home), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.stdout.strip() == "2.0", ran.stderr
