"""NVRTC through ctypes: its functions, its errors, and where it is looked for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anywarp.compile import nvrtc

ROOT = Path(__file__).parents[3]
SOURCE = 'extern "C" __global__ void fill(float* x) { x[threadIdx.x] = 1; }'


def test_the_version_is_the_one_that_is_asked_for():
    wanted = re.fullmatch(r"(nvidia-cuda-nvrtc-cu12)==(\d+)\.(\d+)\.\d+", nvrtc.WHEEL)
    assert nvrtc.WHEEL in (ROOT / "requirements" / "compiler.txt").read_text(encoding="utf-8")
    assert nvrtc.WHEEL in nvrtc.advice()
    assert nvrtc.version() >= (int(wanted[2]), 0)


def test_architectures():
    found = nvrtc.architectures()
    assert {75, 80, 90} <= set(found) and all(isinstance(one, int) for one in found)


def test_a_source_that_is_not_ascii():
    source = f"// für μ\n{SOURCE}"
    assert "fill" in nvrtc.compile(source, "für.cu", ["-arch=compute_90"], ["fill"]).ptx


@pytest.fixture
def anew():
    """Look for the library again, and once more afterwards."""
    nvrtc.load.cache_clear()
    yield
    nvrtc.load.cache_clear()


def test_the_variable_says_that_there_is_none(monkeypatch, anew):
    monkeypatch.setenv(nvrtc.CHOICE, "none")
    with pytest.raises(ImportError, match="ANYWARP_NVRTC is none"):
        nvrtc.version()


def test_the_variable_names_a_file(monkeypatch, anew):
    found = next(path for path in nvrtc._candidates() if Path(path).exists())
    monkeypatch.setenv(nvrtc.CHOICE, found)
    assert nvrtc.version() >= (12, 0)
    nvrtc.load.cache_clear()
    monkeypatch.setenv(nvrtc.CHOICE, "/nowhere/libnvrtc.so.12")
    with pytest.raises(ImportError, match="/nowhere/libnvrtc.so.12: cannot open"):
        nvrtc.version()


def test_without_any_library_the_error_has_what_was_met(monkeypatch, anew, tmp_path):
    (tmp_path / "text.so").write_text("not a library")
    monkeypatch.delenv(nvrtc.CHOICE, raising=False)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter([str(tmp_path / "text.so")]))
    with pytest.raises(ImportError, match=r"text\.so"):
        nvrtc.version()
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter([]))
    with pytest.raises(ImportError, match="there is no such library"):
        nvrtc.load()


def make(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Wheels and toolkits that are empty files; the function says what is found there."""
    monkeypatch.setattr(nvrtc, "package", lambda name: [tmp_path / name])
    for name in "CUDA_PATH", "CUDA_HOME":
        monkeypatch.delenv(name, raising=False)

    def found():
        here = [path for path in nvrtc._candidates() if path.startswith(str(tmp_path))]
        return [Path(path).relative_to(tmp_path).as_posix() for path in here]

    return found


def test_the_wheels_of_linux(places, tmp_path, monkeypatch):
    monkeypatch.setattr(nvrtc, "NAME", "libnvrtc.so.*")
    old, new = "nvidia/cuda_nvrtc/lib/libnvrtc", "nvidia/cu13/lib/libnvrtc"
    make(tmp_path, f"{old}.so.12", f"{old}.alt.so.12", f"{old}-builtins.so.12.9", f"{new}.so.13")
    assert places() == [f"{old}.so.12", f"{new}.so.13"]


def test_the_wheels_of_windows(places, tmp_path, monkeypatch):
    monkeypatch.setattr(nvrtc, "NAME", "nvrtc64_*_0.dll")
    old, new = "nvidia/cuda_nvrtc/bin/nvrtc", "nvidia/cu13/bin/x86_64/nvrtc"
    make(tmp_path, f"{old}64_120_0.dll", f"{old}64_120_0.alt.dll", f"{old}-builtins64_129.dll")
    make(tmp_path, f"{new}64_130_0.dll")
    assert places() == [f"{old}64_120_0.dll", f"{new}64_130_0.dll"]


@pytest.mark.parametrize("variable", ["CUDA_PATH", "CUDA_HOME"])
def test_a_toolkit(places, tmp_path, monkeypatch, variable):
    monkeypatch.setattr(nvrtc, "NAME", "libnvrtc.so.*")
    make(tmp_path, "cuda/lib64/libnvrtc.so.13", "cuda/lib64/libnvrtc.so.13.0.88")
    monkeypatch.setenv(variable, str(tmp_path / "cuda"))
    assert places() == ["cuda/lib64/libnvrtc.so.13"]


def test_advice_where_there_is_no_wheel(monkeypatch):
    monkeypatch.setattr(nvrtc.sys, "platform", "darwin")
    assert "Linux" in nvrtc.advice() and "pip install" not in nvrtc.advice()


def test_compiling_imports_no_cupy():
    code = (
        "import sys; from anywarp import build; build.compile('//', 'a.cu'); "
        "assert not any(name.startswith('cupy') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_an_error_in_a_template_is_told_where_nvrtc_alone_would_crash():
    """In a process of its own, which used to die of a segmentation fault."""
    code = (
        "from anywarp import CompileError, Kernel\n"
        "source = 'template<class T> __global__ void f(un::X<T> a) {}'\n"
        "try:\n    Kernel(source, 'f<float>')\nexcept CompileError as error:\n    print(error)"
    )
    env = os.environ | {"ANYWARP_CACHE": "none"}  # where an earlier answer may be
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "kernel.cu:1: error:" in ran.stdout and ran.returncode == 0, ran
