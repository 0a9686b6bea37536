"""The wheel: installed alone in a fresh environment with NumPy, away from this tree."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from building import ROOT

from anywarp import build
from anywarp.compile import nvrtc, store

SOURCE = """
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void reverse(float* x)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
SCRIPT = f"""
import sys

import anywarp
import numpy as np

others = {{"cupy", "matplotlib", "tqdm", "kernels", "IPython"}} & set(sys.modules)
assert not others, others
anywarp.compiled_in(sys.argv[1])
names = ("add", "reverse")
add, reverse = (anywarp.RawKernel('''{SOURCE}''', name, names=names) for name in names)
a, b, c = np.arange(100, dtype="f"), np.ones(100, "f"), np.zeros(100, "f")
add((1,), (128,), (a, b, c, 100))
assert (c == a + b).all()
sectors = add.trace(1, 128, (a, b, c, 100)).counters[
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
]
assert sectors == 26, sectors  # of 400 bytes, twice
(race,) = reverse.sanitize(1, 64, (c[:64],))
assert race.kind == "race" and race.position.line == 13, race
assert anywarp.draw.stepper and anywarp.analysis.BANKS == 32
try:
    anywarp.RawKernel("__global__ void f() {{}}", "f")
except anywarp.NoCompiler as error:
    assert "pip install" in str(error)
print("done", anywarp.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, since setuptools leaves folders in the tree."""
    for needed in ("setuptools", "wheel"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    leave = shutil.ignore_patterns("__pycache__", "compiled", "records")
    for house in ("anywarp", "kernels"):
        shutil.copytree(ROOT / house, folder / house, ignore=leave)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    command = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    ran = subprocess.run(
        [sys.executable, "-c", command], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_it_has_all_of_anywarp_and_nothing_else(wheel):
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    there = [path for path in (ROOT / "anywarp").rglob("*") if path.is_file()]
    there = [path.relative_to(ROOT).as_posix() for path in there if "__pycache__" not in path.parts]
    readme = {"anywarp/README.md"}  # which later versions of setuptools take along
    assert files - readme == set(there) - readme


def test_it_runs_in_an_empty_folder_with_numpy_alone(wheel, tmp_path):
    home, given, empty = (tmp_path / name for name in ("venv", "given", "empty"))
    empty.mkdir()
    recipe = store.Recipe(SOURCE, "kernel.cu", (), ("add", "reverse"), "sm_90")
    try:
        store.write(given / store.name_of(recipe), build.compiled(recipe))
    except build.NoCompiler as error:
        pytest.skip(str(error))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = home.glob("Lib/site-packages" if os.name == "nt" else "lib/*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    numpy = Path(np.__file__).parent
    for folder in (numpy, *numpy.parent.glob("numpy.libs")):
        shutil.copytree(folder, site / folder.name, ignore=shutil.ignore_patterns("tests"))
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ran = subprocess.run(
        [python, "-I", "-W", "error", "-c", SCRIPT, str(given)],
        cwd=empty, env={**os.environ, nvrtc.CHOICE: "none", store.CACHE: "none"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert ran.stdout.startswith("done "), ran.stderr
    assert not list(empty.iterdir())
