"""CUDA C++ source to PTX, and to a cubin with what ptxas says about it.

NVRTC compiles, on every machine that has it: it needs neither a GPU nor a driver. Where it is not,
clang does, to PTX alone, if it is there (`compile.clang`). What a package was given compiled
(`compile.store`) is taken whatever NVRTC is here: then what the interpreter counts and what the
machine code shows are what a text about it says, while a reader's versions, which only the NVRTC
here can compile, may differ from them by the compiler too.

It is not taken where it would be measured or named for another: with a GPU, what runs there and
what is counted beside it come from one compiler, the NVRTC here, as they do where ANYWARP_NVRTC
names one. If its version is the one that made what is stored, that is taken all the same, since it
would make the same, as a test sees to. What the NVRTC here has made is kept for the next process.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import capability, gpu
from .compile import clang, headers, host, nvrtc, store
from .progress import progress

STDINT = "-include=stdint.h"
DEVICE = "-default-device"  # what NVRTC's log offers for host code
KEYWORD = "-Dregister="
ADVICE = {  # what a log says, and what to do about it
    r"'(wgmma|setmaxnreg)\b.*' not supported on \.target 'sm_90'": (
        "wgmma and setmaxnreg are instructions of compute capability 9.0a: add the line "
        "'// compute capability: 9.0a' to the comment at the top of the source"
    ),
    r"/cub/(?!block|warp|thread|cub)\w*/": "Of CUB, kernels have what <cub/cub.cuh> has here",
    "texture is not a template": "CUDA 12 has no texture references: pass a cudaTextureObject_t",
    r'"__(shfl\w*|any|all|ballot)" is undef': "Since Volta: __shfl_sync and so on, with a mask",
    "/thrust/": "Thrust is for the host; <cuda/std/complex> and the like are for kernels",
    "initialization is not supported for __shared__": (
        "clang has no object with a destructor in shared memory: write an array of one, as bar[1]"
    ),
    "error: device-side kernel launch": "A kernel cannot launch another here: launch both yourself",
    r"\b(torch|at|c10|cv|Eigen)::": (
        "What these libraries have is host code: give the kernel pointers and numbers in its place"
    ),
}


class CompileError(ValueError):
    """The compiler refused the source; the message has its errors as `file.cu:line: error: …`."""


class NoCompiler(ImportError):
    """A source must be compiled, and there is no compiler; the message says how to get it."""


@dataclass(frozen=True)
class Resources:
    """What one thread or block of a kernel takes: registers per thread, the others in bytes.

    `stack`, `spill_stores` and `spill_loads` are per thread, `shared` (static) per block.
    `stack` is with the functions that the kernel calls, where ptxas can bound it: for a recursive
    kernel it is that of the kernel alone, as the driver has it. Spills are those of all functions.
    `barriers` is how many barriers a block has; `__syncthreads()` alone is one.
    """

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int
    barriers: int = 0


@functools.cache
def compile(
    source: str,
    filename: str,
    options: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    arch: str = "compute_90",
    needs: capability.Capability | None = None,
    included: str = "",
) -> nvrtc.Compiled:
    """Compile `source`, which messages call `filename`. The result is remembered, for each
    `included`: what `store.name_of` makes of the headers, which may have changed.

    `arch` "compute_90" gives PTX, "sm_90" also a cubin; where the source needs compute capability
    9.0a, as its first comment says unless `needs` does, they stand for "compute_90a" and "sm_90a",
    and others are a ValueError. `names` are the kernels wanted:
    extern "C" symbols or C++ name expressions such as "gemm<4, 8>". Headers are looked for
    where `headers.added` and `headers.folders` say. Raises CompileError with the compiler's
    own lines, and NoCompiler where there is none.
    """
    needs = capability.needed(source, filename) if needs is None else needs
    try:
        arch = capability.architecture(needs, arch)
    except ValueError as error:
        raise ValueError(f"{filename}: {error}") from None
    recipe = store.Recipe(str(source), filename, tuple(options), tuple(names), arch)
    store.note(recipe)
    compilation = _given(recipe) or _kept(recipe)
    while isinstance(compilation.made, nvrtc.Refused):
        again = _mended(compilation.recipe, compilation.made.log, host.PROGRAM.search(source))
        if again == compilation.recipe:
            break
        try:
            compilation = _given(again) or _kept(again)
        except NoCompiler:
            break
    made, used = compilation.made, compilation.recipe
    less = ""
    if used.source != recipe.source:
        less = f"{filename}: host code is left out: {host.left_out(recipe.source, used.source)}"
    if isinstance(made, nvrtc.Refused):
        text = _explain(used, made.log, "{}.{}".format(*compilation.nvrtc))
        raise CompileError(f"{text}\n{less}; what a kernel uses needs __device__" if less else text)
    if less:
        warnings.warn(less, stacklevel=4)  # whoever makes a Kernel
    return made


def _mended(recipe: store.Recipe, log: str, program: object) -> store.Recipe:
    """The recipe with what NVRTC lacks beside nvcc, as far as its log asks for it: the types of
    stdint.h; a keyword of before C++17; what headers alone have of the host, as if it were for the
    device; and, of a program, without the host code. The same recipe if it asks for none."""
    known = r'identifier "(u?int(\d+|ptr|max)_t|U?INT\d+_(MIN|MAX))" is undefined'
    own = re.search(rf"^{re.escape(recipe.filename)}\(\d+\): .*error", log, re.MULTILINE)
    keyword = '"register" storage class' in log
    asks = (STDINT, re.search(known, log)), (DEVICE, DEVICE in log and not own), (KEYWORD, keyword)
    for flag, asked in asks:
        if asked and flag not in recipe.options:
            return recipe._replace(options=(*recipe.options, flag))
    if not program:
        return recipe
    return recipe._replace(source=host.without(recipe.source, recipe.filename, log))


def _given(recipe: store.Recipe) -> store.Compilation | None:
    """What a package was given with it, unless an NVRTC of another version has to make it."""
    compilation = None if _by_clang(recipe, asked=True) else store.given(recipe)
    if compilation is None or not (nvrtc.named() or _measured(recipe)):
        return compilation
    try:
        return compilation if nvrtc.version() == compilation.nvrtc else None
    except ImportError:
        return compilation


def _measured(recipe: store.Recipe) -> bool:
    """Whether it may run on a GPU that is here, or is counted beside what does."""
    return gpu.available() and (not recipe.real or recipe.arch.startswith(gpu.arch()))


def _by_clang(recipe: store.Recipe, asked: bool = False) -> bool:
    """Whether clang is to compile this: PTX, where there is no NVRTC or, `asked`, by
    ANYWARP_COMPILER alone. Raises NoCompiler for a clang that was asked for and is not here."""
    try:
        return not recipe.real and clang.chosen(asked or nvrtc.here())
    except ImportError as error:
        raise NoCompiler(str(error)) from None


def _kept(recipe: store.Recipe) -> store.Compilation:
    """What the compiler that is here made of a recipe, now or in an earlier process. Raises
    NoCompiler."""
    by_clang = _by_clang(recipe)
    version = clang.NO_NVRTC if by_clang else _version(recipe)
    nvrtcs = () if by_clang else (Path(nvrtc.load()._name), *headers.folders(version[0]))
    compiler = [version, *map(str, headers.added), *map(_dated, nvrtcs or clang.files())]
    compilation = store.cached(recipe, compiler)
    if compilation is None:
        with progress(f"compiling {recipe.filename}", "kernel"):
            compilation = compiled(recipe)
        store.keep(compilation, compiler)
    return compilation


def _dated(path: Path) -> tuple[str, int]:
    """A file or folder and when it was last changed, as when a package was updated."""
    return str(path), path.stat().st_mtime_ns if path.exists() else 0


def _version(recipe: store.Recipe) -> tuple[int, int]:
    """Of the NVRTC that is here. Raises NoCompiler, with what could not be compiled."""
    try:
        return nvrtc.version()
    except ImportError as error:
        damaged = store.left_out.get(store.name_of(recipe), "")
        raise NoCompiler(
            f"{recipe} did not come compiled{damaged and f' ({damaged})'}, and there is no "
            f"compiler here: NVIDIA's library NVRTC cannot be loaded ({error}). {nvrtc.advice()}"
            f"{'' if recipe.real else clang.advice()}"
        ) from None


def compiled(recipe: store.Recipe) -> store.Compilation:
    """What the compiler that is here makes of a recipe, at once. Raises NoCompiler."""
    if _by_clang(recipe):
        return store.Compilation(recipe, clang.compile(*recipe), clang.NO_NVRTC)
    source, filename, options, names, arch = recipe
    version = _version(recipe)
    flags = [f"-arch={arch}", "-std=c++17", "-lineinfo", f"-include={headers.PRELUDE}"]
    flags += [f"-I{folder}" for folder in (*headers.added, *headers.folders(version[0]))]
    if recipe.real:
        flags.append("--ptxas-options=-v")
        if version >= (12, 9):  # a cached cubin comes without the ptxas report
            flags.append("--no-cache")
    made = nvrtc.compile(source, filename, (*flags, *options), names)
    # The time taken is never the same. From ^ on alone: lines of the source in the log may be long.
    log = re.sub(r"^.*Compile time = .*\n?", "", made.log, flags=re.MULTILINE)
    return store.Compilation(recipe, made._replace(log=log), version)


def resources(build: nvrtc.Compiled, symbol: str) -> Resources:
    """What ptxas reported for `symbol`. Raises ValueError unless compiled for a GPU (`sm_…`)."""
    _, begun, rest = build.log.partition(f"Compiling entry function '{symbol}'")
    if not begun:
        raise ValueError(f"no ptxas report for {symbol!r}: compile it for a GPU, such as sm_90")
    report = rest.partition("Compiling entry function")[0]

    def total(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, report)))

    frames = re.findall(r"(\d+) bytes cumulative stack size", report)
    frames += re.findall(r"(\d+) bytes stack frame", report)
    return Resources(
        registers=total(r"Used (\d+) registers"),
        stack=int(frames[0]) if frames else 0,
        spill_stores=total(r"(\d+) bytes spill stores"),
        spill_loads=total(r"(\d+) bytes spill loads"),
        shared=total(r"(\d+) bytes smem"),
        barriers=total(r"used (\d+) barriers"),
    )


def preamble(options: Iterable[str]) -> str:
    """The `-D` options as the lines of source that they stand for."""
    defined = [option[2:].strip() for option in options if option.startswith("-D")]
    return "".join(
        f"#define {text.replace('=', ' ', 1) if '=' in text else text + ' 1'}\n" for text in defined
    )


def _explain(recipe: store.Recipe, log: str, version: str) -> str:
    """The errors of a compiler log, without its warnings, each with its source line; and what to do
    about them, where that is known. `version` is the compiler's, "12.9"."""
    errors = [part for part in log.strip().split("\n\n") if re.search(r"\berror\b.*:", part)]
    # A kernel name that NVRTC cannot find is reported against a map of its own, one the reader
    # has never seen; and after a real error such reports are mere consequences.
    own = [part for part in errors if not part.startswith("__nv_name_map")]
    if errors and not own:
        reason = errors[0].partition("error: ")[2].partition("\n")[0]
        return f"{recipe.filename}: the kernel asked for is not there: {reason}"
    text = "\n".join(own) or log.strip()
    text = re.sub(r"^(\S+)\((\d+)\): ", r"\1:\2: ", text, flags=re.MULTILINE)
    head = " ".join([f"{recipe.filename} does not compile for {recipe.arch}", *recipe.options])
    advice = "".join(f"\n{words}" for sign, words in ADVICE.items() if re.search(sign, log))
    missing = re.findall(r'(?:cannot|could not) open source file "([^"]+)"', log)
    by_clang = version == "0.0"
    version = "12.9" if by_clang else version
    lines = [f"\n{headers.advice(name, version)}" for name in dict.fromkeys(missing)]
    return "".join([head, "\n", text, *lines, clang.lacking(log) if by_clang else "", advice])
