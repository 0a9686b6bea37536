"""anywarp.gpu: what can be tested without a GPU, then what cannot."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from anywarp import build, gpu
from anywarp.compile import nvrtc
from anywarp.gpu import nvidia_smi
from kernels.analysis import reference
from kernels.measure import cublas

needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not gpu.available(), reason=f"no GPU: {gpu.why_not()}"),
]


@pytest.fixture
def fresh():
    """Forget what is known of this machine, before and after."""
    gpu.why_not.cache_clear()
    yield
    gpu.why_not.cache_clear()


def fake_cupy(monkeypatch, *, driver=13000, compiler=(13, 0), devices=1, capability=(9, 0)):
    """Put CuPy and NVRTC in place that only answer these questions. An exception is raised."""

    def answer(value):
        def ask():
            if isinstance(value, Exception):
                raise value
            return value

        return ask

    cuda = types.ModuleType("cupy.cuda")
    cuda.runtime = types.SimpleNamespace(
        driverGetVersion=answer(driver),
        getDeviceCount=answer(devices),
        getDevice=lambda: 0,
        getDeviceProperties=lambda number: dict(
            zip(("name", "major", "minor"), (b"Some GPU", *capability))
        ),
    )
    monkeypatch.setattr(nvrtc, "architectures", lambda: (75, 80, 86, 90, 120))
    monkeypatch.setattr(nvrtc, "version", answer(compiler))
    monkeypatch.setattr(gpu, "driver_library", lambda: None)
    cuda.Device = lambda: types.SimpleNamespace(use=lambda: None)
    cupy = types.ModuleType("cupy")
    cupy.cuda = cuda
    cupy.ndarray = type("ndarray", (), {})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return cupy


@pytest.mark.parametrize(
    "facts, words",
    [
        (dict(driver=0), "no NVIDIA driver"),
        (dict(driver=12040), "driver is too old: it supports CUDA 12.4, and NVRTC 13.0"),
        (dict(driver=11080, compiler=(12, 9)), "needs a driver for CUDA 12.0 or later"),
        (dict(devices=0), "sees no GPU"),
        (dict(capability=(6, 1)), "NVRTC 13.0 compiles for compute capability 7.5 to 12.0, and "),
        (dict(devices=RuntimeError("cudaErrorNoDevice: none")), "CUDA reports: cudaErrorNoDevice"),
        (dict(compiler=ImportError("no libnvrtc.so")), "NVRTC cannot be loaded (no libnvrtc.so). "),
    ],
)
def test_the_reason_why_there_is_no_gpu(monkeypatch, fresh, facts, words):
    fake_cupy(monkeypatch, **facts)
    assert words in gpu.why_not()
    assert not gpu.available()
    with pytest.raises(gpu.NoGPU, match="No GPU can be used.*interpreter"):
        gpu.require()


@pytest.mark.parametrize("driver, compiler", [(13000, (13, 0)), (12040, (12, 9)), (13000, (12, 9))])
def test_a_driver_runs_what_a_later_minor_version_compiled(monkeypatch, fresh, driver, compiler):
    fake_cupy(monkeypatch, driver=driver, compiler=compiler)
    assert gpu.why_not() is None and gpu.available()
    gpu.require()


def test_without_cupy_there_is_no_gpu(monkeypatch, fresh):
    monkeypatch.setattr(gpu, "driver_library", lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", None)  # makes `import cupy` fail
    assert "CuPy cannot be imported" in gpu.why_not()
    assert not gpu.is_device_array(np.zeros(1))


def test_without_a_driver_cupy_is_not_imported(monkeypatch, fresh):
    def missing():
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(gpu, "driver_library", missing)
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert gpu.why_not() == "there is no NVIDIA driver on this machine"


def test_is_device_array(monkeypatch):
    cupy = fake_cupy(monkeypatch)
    assert gpu.is_device_array(cupy.ndarray())
    assert not gpu.is_device_array(np.zeros(1)) and not gpu.is_device_array([1.0])


def test_arch_is_the_newest_that_gpu_and_nvrtc_know(monkeypatch):
    fake_cupy(monkeypatch)

    def arch(*of):
        here = types.SimpleNamespace(compute_capability=of, nvrtc="13.0", name="Some GPU")
        monkeypatch.setattr(gpu, "device", lambda: here)
        return gpu.arch()

    known = {(9, 0): "sm_90", (8, 9): "sm_86", (7, 5): "sm_75", (12, 1): "sm_120"}
    assert {of: arch(*of) for of in known} == known
    with pytest.raises(gpu.NoGPU, match=r"7\.5 to 12\.0, and Some GPU has 7\.0"):
        arch(7, 0)


def test_status_is_that_of_the_gpu_in_use():
    first = "00000000:3B:00.0, 580.82.07, 1980, 0x0000000000000004\n"
    both = first + "00000000:5E:00.0, 580.82.07, [N/A], 0x0000000000001001\n"
    for text, bus, *status in (
        (first, None, "580.82.07", 1980.0, ("sw_power_cap",)),
        (both, "0000:5e:00.0", "580.82.07", None, ("gpu_idle", "0x1000")),
        *((both, "0000:00:00.0"), (both, None), ("", None)),
        ("a, b, 1, 0x0", None, "b", 1.0, ()),
        ("a, b, 1, [N/A]", None, "b", 1.0, None),
    ):
        assert nvidia_smi._parse_status(text, bus) == nvidia_smi.Status(*status)


def test_status_asks_an_old_driver_by_the_old_name(monkeypatch):
    def run(command, **_):
        old = "clocks_throttle_reasons.active" in command[1]
        return types.SimpleNamespace(returncode=0 if old else 2, stdout="0, 525.1, 1590, 0x1\n")

    monkeypatch.setattr(nvidia_smi.subprocess, "run", run)
    assert nvidia_smi.status() == nvidia_smi.Status("525.1", 1590.0, ("gpu_idle",))


def test_status_without_nvidia_smi_is_empty(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert nvidia_smi.status() == nvidia_smi.Status()


def test_arguments_as_the_driver_wants_them():
    struct = gpu._argument(b"\x01\x02\x03\x04\x05")
    assert struct.size == 1 and struct.tobytes() == b"\x01\x02\x03\x04\x05"


def test_cublas_takes_only_what_it_can_read():
    A = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match="A must be .* CuPy array"):
        cublas.sgemm(A, A, A)


def test_cublas_version():
    assert cublas._words(130002) == "13.0.2"
    assert cublas._words(120905) == "12.9.5"


# ---------------------------------------------------------------------- on a GPU

SOURCE = """
struct Pair { int x; float y; };
extern "C" __global__ void arguments(float* out, int i, double d, Pair pair)
{
    out[0] = i; out[1] = d; out[2] = pair.x; out[3] = pair.y;
}
extern "C" __global__ void reverse(int* data, int n)
{
    extern __shared__ int tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        tile[i] = data[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        data[i] = tile[n - 1 - i];
}
extern "C" __global__ void spin(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {}
}
"""


def launch(symbol, grid, block, args, shared_mem=0):
    names = ("arguments", "reverse", "spin")
    built = build.compile(SOURCE, "test.cu", (), names, gpu.arch())
    loaded = gpu.load(built.machine_code, built.lowered[symbol])
    gpu.launch(loaded, (grid,), (block,), args, shared_mem)


class TestOnGPU:
    pytestmark = needs_gpu

    def test_device_facts(self):
        device = gpu.device()
        assert device.name and device.compute_capability >= (5, 0)
        assert device.multiprocessors > 0 and 100 < device.clock_mhz < 10_000
        assert device.l2_bytes > 0 and device.memory_bytes > 2**30
        assert device.shared_bytes_per_block >= 48 * 1024
        assert gpu.arch().startswith(f"sm_{device.compute_capability[0]}")

    def test_arrays_go_there_and_back(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        for array in (x, x.T, x[:0], np.array(5)):
            there = gpu.to_device(array)
            assert gpu.is_device_array(there)
            assert there.flags.c_contiguous == array.flags.c_contiguous
            assert np.array_equal(gpu.to_host(there), array)
        there = gpu.to_device(x)
        again = gpu.empty((3, 4))
        gpu.copy(again, there)
        gpu.fill_bytes(there, 0xFF)
        assert np.isnan(gpu.to_host(there)).all() and np.array_equal(gpu.to_host(again), x)
        with pytest.raises(ValueError, match="cannot copy 48 bytes into 4"):
            gpu.copy(gpu.empty(1), again)

    def test_arguments_arrive(self):
        out = gpu.empty(4)
        pair = np.int32(3).tobytes() + np.float32(4.5).tobytes()
        launch("arguments", 1, 1, (out, np.int32(-1), np.float64(2.25), pair))
        assert gpu.to_host(out).tolist() == [-1, 2.25, 3, 4.5]

    @pytest.mark.parametrize("n", [1024, 15 * 1024])  # 4 KiB; 60 KiB, above the default
    def test_dynamic_shared_memory(self, n):
        if 4 * n > gpu.device().shared_bytes_per_block:
            pytest.skip(f"{gpu.device().name} has less shared memory")
        data = gpu.to_device(np.arange(n, dtype=np.int32))
        launch("reverse", 1, 256, (data, np.int32(n)), shared_mem=4 * n)
        assert np.array_equal(gpu.to_host(data), np.arange(n)[::-1])

    def test_too_much_shared_memory_and_too_large_a_block(self):
        data = gpu.empty(4, np.int32)
        with pytest.raises(ValueError, match="allows .* per block"):
            launch("reverse", 1, 32, (data, np.int32(4)), shared_mem=2**24)
        with pytest.raises(RuntimeError, match="arguments cannot be launched with grid"):
            launch("arguments", 1, 4096, (data, np.int32(1), np.float64(1), bytes(8)))

    def test_events_time_the_work_between_them(self):
        launch("spin", 1, 1, (np.int64(0),))  # the first launch also loads the kernel
        gpu.synchronize()
        marks = []
        for cycles in (0, 10_000_000):
            start = gpu.event()
            launch("spin", 1, 1, (np.int64(cycles),))
            marks.append((start, gpu.event()))
        gpu.synchronize()
        none, some = (gpu.elapsed_ms(*pair) for pair in marks)
        assert 0 < none < some
        least = 10_000_000 / (gpu.device().clock_mhz * 1e3)
        assert some > 0.9 * least

    @pytest.mark.parametrize("shape", [(1, 1, 1), (17, 33, 65), (256, 128, 512)])
    def test_cublas_is_row_major_fp32(self, shape):
        A, B, C0 = reference.inputs(*shape)
        C = gpu.to_device(C0)
        cublas.sgemm(gpu.to_device(A), gpu.to_device(B), C)
        reference.assert_close(gpu.to_host(C), A, B)

    def test_cublas_does_not_use_tf32_when_others_do_and_leaves_their_mode(self):
        tf32 = 3  # CUBLAS_TF32_TENSOR_OP_MATH
        A, B, _ = reference.inputs(256, 256, 256)
        C = gpu.empty((256, 256))
        library, handle = cublas._cublas()
        before = library.getMathMode(handle)
        library.setMathMode(handle, tf32)
        try:
            cublas.sgemm(gpu.to_device(A), gpu.to_device(B), C)
            assert library.getMathMode(handle) == tf32
        finally:
            library.setMathMode(handle, before)
        reference.assert_close(gpu.to_host(C), A, B)

    def test_cublas_refuses_other_arrays(self):
        A = gpu.empty((4, 4))
        with pytest.raises(ValueError, match="shapes do not fit"):
            cublas.sgemm(A, A, gpu.empty((4, 5)))
        with pytest.raises(ValueError, match="B must be"):
            cublas.sgemm(A, A.T, A)
        with pytest.raises(ValueError, match="C must be"):
            cublas.sgemm(A, A, gpu.empty((4, 4), np.float64))
