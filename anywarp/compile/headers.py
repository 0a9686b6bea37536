"""Where NVRTC finds headers, which it lacks entirely, and what to install for one that nobody has.

`include` has the C and C++ headers that pasted kernels name, a few lines each, since NVRTC has
their functions built in. CUDA's own come from NVIDIA's wheels, from CuPy (which ships libcu++) or
from a toolkit of the same major version. A kernel that includes nothing needs none of them.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from . import host

OURS = Path(__file__).parent / "include"
LAST = OURS / "last"  # for headers of NVIDIA's that kernels name and hardly need, where none is
added: list[Path] = []  # folders with headers of whoever uses this package, before all others
PRELUDE = OURS / "prelude.h"  # what nvcc includes unasked

# Wheels for CUDA 12, and how the names of their headers start; the first that fits counts.
WHEELS = {
    "nvidia-cuda-nvcc-cu12": "crt/",
    "nvidia-curand-cu12": "curand",
    "nvidia-cuda-cccl-cu12": "cuda/ nv/ cub/ thrust/",
    "nvidia-cuda-runtime-cu12": "cuda cooperative_groups mma.h math_ vector_ sm_ cuComplex.h",
}
DEVICE_TOO = set(  # headers of the C++ library that libcu++ has for kernels, as <cuda/std/...>
    "array atomic barrier bit bitset cassert ccomplex cfloat chrono climits cmath complex concepts "
    "cstddef cstdint cstdlib cstring ctime execution expected functional initializer_list iterator "
    "latch limits memory numbers numeric optional ranges ratio semaphore source_location span "
    "string_view tuple type_traits utility variant version".split()
)
SIZES = dict(zip(WHEELS, (" (100 MB)", " (170 MB)")))  # on disk; of those that bring much besides


@functools.cache
def folders(major: int) -> tuple[Path, ...]:
    """The folders with headers that fit an NVRTC of this major version, first to last."""
    return tuple(folder for folder in _candidates(major) if folder.is_dir())


def _candidates(major: int) -> Iterator[Path]:
    """Where such folders may be, first to last, whether they are there or not."""
    yield OURS
    for nvidia in package("nvidia"):
        if major == 12:
            for name in ("cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand"):
                yield nvidia / name / "include"
        else:  # one folder for all from CUDA 13 on
            yield nvidia / f"cu{major}" / "include"
            yield nvidia / f"cu{major}" / "include" / "cccl"
    for cupy in package("cupy"):
        for name in ("libcudacxx", "cub", "thrust"):
            yield cupy / "_core" / "include" / "cupy" / "_cccl" / name
    for root in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root and toolkit_major(Path(root)) == major:
            yield Path(root) / "include"
            yield Path(root) / "include" / "cccl"
    yield LAST


def toolkit_major(root: Path) -> int | None:
    """The major version of the toolkit in a folder, from its cuda.h; None if there is none."""
    try:
        text = (root / "include" / "cuda.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = re.search(r"^#define CUDA_VERSION (\d+)", text, re.MULTILINE)
    return int(version[1]) // 1000 if version else None


def advice(header: str, version: str = "12.9") -> str:
    """What to do about a header that was not found.

    `version` is NVRTC's, "12.9": NVIDIA's wheels of one release have the same first numbers.
    """
    fits = (wheel for wheel, starts in WHEELS.items() if header.startswith(tuple(starts.split())))
    wheel = next(fits, None)
    if re.fullmatch(host.HEADERS, header):
        std = f"; kernels may have it as <cuda/std/{header}>"
        return f"{header} is for the host: leave it out{std if header in DEVICE_TOO else ''}"
    if wheel is None:
        whose = "one of NVIDIA's CUDA samples has it" if header == "helper_math.h" else "if yours"
        return f'{header}: {whose}, pass its folder: options=["-Ifolder"]'
    major = version.partition(".")[0]
    size = SIZES.get(wheel, "") if major == "12" else ""
    if major != "12":
        wheel = wheel.removesuffix("-cu12").replace("nvcc", "crt")
    # cuRAND counts its own versions
    wanted = wheel if "curand" in wheel else f"'{wheel}=={version}.*'"
    if not wheels():
        others = " ".join(f"'{x}=={version}.*'" for x in list(WHEELS)[2:] if x != wheel)
        return (
            f"{header} fits any machine, and comes in a wheel for another: pip install --no-deps "
            "--upgrade --only-binary=:all: --platform manylinux2014_x86_64 --target "
            f'"{sysconfig.get_path("purelib")}" {wanted} {others}'
        )
    text = f"{header} comes with pip install {wanted}{size}, or with a CUDA {major} toolkit"
    return f"{text} (CUDA_PATH)"


def wheels() -> bool:
    """Whether NVIDIA makes wheels for this machine."""
    return sys.platform != "darwin" and platform.machine() != "ARM64"


def package(name: str) -> list[Path]:
    """The folders of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
