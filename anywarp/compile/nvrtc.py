"""NVRTC, NVIDIA's compiler in a library, called by ctypes: CUDA C++ to PTX and machine code.

It needs no GPU, no driver and no CuPy. The library is looked for in NVIDIA's wheels, in the toolkit
that CUDA_PATH or CUDA_HOME names, where the system looks for libraries (LD_LIBRARY_PATH; PATH on
Windows), and in /usr/local/cuda. ANYWARP_NVRTC names another file, or says that there is none:
ANYWARP_NVRTC=none.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from .headers import package, wheels

SYNTAX_ONLY = "--fdevice-syntax-only"  # an option by which nothing is made
CHOICE = "ANYWARP_NVRTC"
WHEEL = "nvidia-cuda-nvrtc-cu12==12.9.86"  # as in requirements/compiler.txt
WINDOWS = sys.platform == "win32"
NAME = "nvrtc64_*_0.dll" if WINDOWS else "libnvrtc.so.*"
# Those of 12 first: what it makes runs on every driver since CUDA 12.
SYSTEM = ("nvrtc64_120_0.dll", "nvrtc64_130_0.dll") if WINDOWS else (
    "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"
)  # fmt: skip


class Compiled(NamedTuple):
    """What NVRTC made of a source: `cubin` only when it was compiled for a real GPU (`sm_…`).

    `log` is everything the compiler and ptxas printed, warnings included. `lowered` maps each
    requested name expression to the symbol that stands for it in the PTX and the cubin.
    """

    ptx: str
    cubin: bytes | None
    log: str
    lowered: dict[str, str]

    @property
    def machine_code(self) -> bytes:
        """The cubin. Raises ValueError where there is none."""
        if self.cubin is None:
            raise ValueError("compute_… gives PTX alone: machine code is for a GPU, such as sm_90")
        return self.cubin


class Refused(NamedTuple):
    """What NVRTC said of a source that it does not compile."""

    log: str


def version() -> tuple[int, int]:
    """Of the library in use: (12, 9). Raises ImportError without one."""
    major, minor = c_int(), c_int()
    _call("Version", byref(major), byref(minor))
    return major.value, minor.value


def architectures() -> tuple[int, ...]:
    """The compute capabilities that the library compiles for: (75, 80, 90). Raises ImportError."""
    count = c_int()
    _call("GetNumSupportedArchs", byref(count))
    numbers = (c_int * count.value)()
    _call("GetSupportedArchs", numbers)
    return tuple(numbers)


def usable(capability: tuple[int, int]) -> list[int]:
    """Those of `architectures` that a GPU of this compute capability runs."""
    major, minor = capability
    return [number for number in architectures() if 10 * major <= number <= 10 * major + minor]


def unusable(gpu: str, capability: tuple[int, int]) -> str:
    """Why there are none for a GPU, by its name."""
    known, numbers = architectures(), "{}.{}".format
    return (
        f"NVRTC {numbers(*version())} compiles for compute capability {min(known) / 10} to "
        f"{max(known) / 10}, and {gpu} has {numbers(*capability)}"
    )


def compile(
    source: str, filename: str, options: Sequence[str], names: Sequence[str]
) -> Compiled | Refused:
    """Compile `source` with these options, and the kernels called `names`.

    Raises ImportError without the library.
    """
    if any("<" in wanted for wanted in names):
        # asked for an instance of a template with errors in it, NVRTC 12.9 ends the process
        alone = compile(source, filename, (*options, SYNTAX_ONLY), ())
        if isinstance(alone, Refused) and SYNTAX_ONLY not in alone.log:  # which it may not know
            return alone
    program = c_void_p()
    text, name = source.encode(), filename.encode()
    _call("CreateProgram", byref(program), c_char_p(text), c_char_p(name), 0, None, None)
    try:
        for wanted in names:
            _call("AddNameExpression", program, c_char_p(wanted.encode()))
        flags = (c_char_p * len(options))(*(option.encode() for option in options))
        try:
            _call("CompileProgram", program, len(options), flags)
        except RuntimeError as error:
            return Refused(_text(program, "ProgramLog") or str(error))
        ptx = _text(program, "PTX")
        lowered = {wanted: _lowered(program, wanted) for wanted in names}
        for asked, symbol in lowered.items():
            if not re.search(rf"\.entry {re.escape(symbol)}\b", ptx):  # which it does not mind
                return Refused(f"__nv_name_map: error: {asked} is no kernel with a body")
        cubin, log = _bytes(program, "CUBIN") or None, _text(program, "ProgramLog")
        return Compiled(ptx, cubin, log, lowered)
    finally:
        _call("DestroyProgram", byref(program))


def _bytes(program: c_void_p, what: str) -> bytes:
    """One of the results of a compilation, each of which NVRTC has two functions for."""
    size = c_size_t()
    _call(f"Get{what}Size", program, byref(size))
    room = ctypes.create_string_buffer(size.value)
    _call(f"Get{what}", program, room)
    return room.raw


def _text(program: c_void_p, what: str) -> str:
    """One of the results of a compilation that is text."""
    return _bytes(program, what).rstrip(b"\0").decode(errors="replace")


def _lowered(program: c_void_p, name: str) -> str:
    """The symbol that stands for a name expression."""
    symbol = c_char_p()
    _call("GetLoweredName", program, c_char_p(name.encode()), byref(symbol))
    return (symbol.value or b"").decode()


def _call(function: str, *arguments: Any) -> None:
    """Call a function of the library. Raises RuntimeError with the library's word for its code."""
    library = load()
    code = getattr(library, f"nvrtc{function}")(*arguments)
    if code != 0:
        raise RuntimeError(library.nvrtcGetErrorString(code).decode())


# ---------------------------------------------------------------------- where the library is


def advice() -> str:
    """How to get NVRTC on this machine."""
    there = "NVIDIA makes it for Linux and for Windows on x86-64 alone: "
    if sys.platform == "emscripten":
        return "A page cannot compile: open the notebook in Jupyter, where a compiler is."
    if not wheels():
        return f"{there}the same notebook on such a machine, or on Colab, can compile."
    return f"It needs no GPU: pip install {WHEEL}"


def named() -> bool:
    """Whether ANYWARP_NVRTC names the library to take."""
    return os.environ.get(CHOICE, "none") != "none"


def here() -> bool:
    """Whether the library can be loaded."""
    try:
        return load() is not None
    except ImportError:
        return False


@functools.cache
def load() -> Any:
    """The library. Raises ImportError, with what was met, where none can be loaded."""
    choice = os.environ.get(CHOICE)
    if choice == "none":
        raise ImportError(f"{CHOICE} is none")
    met = []
    for path in [choice] if choice else _candidates():
        try:
            if WINDOWS and os.path.isabs(path):
                os.add_dll_directory(os.path.dirname(path))  # type: ignore[attr-defined]
            library = ctypes.CDLL(path)
            library.nvrtcGetErrorString.restype = c_char_p
        except (OSError, AttributeError) as error:
            met.append(str(error))
            continue
        return library
    raise ImportError("; ".join(met) or "there is no such library")


def _candidates() -> Iterator[str]:
    """Paths of the library, and names for the system to look for, the best first: in the wheel
    `nvidia-cuda-nvrtc-cu12` and, one for all of CUDA, of 13 and later; in toolkits."""
    for root in package("nvidia"):
        yield from _in(root / "cuda_nvrtc", *sorted(root.glob("cu[0-9]*")))
    yield from _in(*map(Path, filter(None, map(os.environ.get, ("CUDA_PATH", "CUDA_HOME")))))
    yield from SYSTEM
    yield from _in(Path("/usr/local/cuda"))


def _in(*roots: Path) -> Iterator[str]:
    """The libraries below folders: `libnvrtc.so.12`, say, and not the `.alt.` beside it."""
    for root in roots:
        for place in ("lib64", "lib", "bin", "bin/x64", "bin/x86_64"):
            for path in sorted((root / place).glob(NAME)):
                if re.search(r"so\.\d+$|_\d+_0\.dll$", path.name):
                    yield str(path)
