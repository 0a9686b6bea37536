"""Any CUDA C++ kernel: compile it, and run it on a GPU or in the interpreter."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from . import build, capability, gpu, ptx, variables
from .arguments import converter, declared
from .compile import clang, nvrtc, store
from .gpu.images import handles
from .limits import launch_size, require_room, require_shared
from .progress import progress
from .ptx.asynchronous.tensor_maps import memory_of
from .ptx.machine.launch import place_of, require_apart
from .ptx.memory.allocations import ALIGNMENT, lead
from .ptx.memory.textures import Image
from .sanitizer import Finding, namer, sanitize
from .tensor_map import TensorMap
from .trace import Pipeline, Trace, parameters, pipeline, trace

REFUSED = {  # what cupy.RawKernel takes besides, and what to do without it
    "translate_cucomplex": "include <cuComplex.h>, which is compiled as it is",
    "jitify": "NVRTC finds the headers that anywarp.compile.headers lists by itself",
}
FILENAME = "kernel.cu"
DEVICES = ("auto", "gpu", "interpreter")
Rewrite = Callable[[bytes, str], tuple[bytes, str | None]]
Result = TypeVar("Result")
Run = Callable[..., Result]
Size = int | Sequence[int]  # of a grid or a block: 1 to 3 numbers, x first


class Kernel:
    """A CUDA C++ kernel, as in `cupy.RawKernel`, that also runs without a GPU.

    `code` is the source, or the path of its file; of a whole program, the host code is left out
    with a warning that says which lines. `name` is an extern "C" symbol or a C++ name expression,
    such as "gemm<4, 8>". `options` go to the compiler (`["-DBM=16"]`); `filename` is what its
    messages call the source. `enable_cooperative_groups` makes launches cooperative, as grid.sync()
    needs it: all blocks run at once. `backend` to `jitify` are CuPy's: values other than the
    default are refused with a ValueError, since NVRTC alone compiles here. Compiles at once: raises
    build.CompileError with file, line and the compiler's words.

    A line `// compute capability: 9.0a` in the comment that opens the source says which GPUs the
    kernel needs (see `capability`), unless `needs` does; the interpreter runs it all the same.
    `names` are kernels of the source that are compiled in one go with this one: the same for each
    of them, they are compiled once. `rewrite` takes the compiler's machine code and its
    architecture, "sm_90", and gives the code to run; or the same code, and why.

    `__device__` variables keep their values from launch to launch, on each device and in the
    interpreter apart; `set` gives one another value on all of them, and `reset` gives all those
    of the source. Two Kernels share none. What is pickled or copied is how to make the Kernel,
    which is compiled anew or taken from the cache: its variables start as declared. `rewrite` has
    to be picklable then.
    """

    made_elsewhere = False  # its PTX was, not from a source here

    def __init__(
        self,
        code: str | os.PathLike[str],
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
        filename: str = FILENAME,
        needs: capability.Capability | None = None,
        names: Sequence[str] = (),
        rewrite: Rewrite | None = None,
    ):
        code, filename = _source(code, filename)
        if isinstance(options, str):
            raise TypeError(f"options must be a list of strings: [{options!r}]")
        if backend != "nvrtc":
            raise ValueError(f'backend must be "nvrtc", the one compiler here, not {backend!r}')
        for word, given in (("translate_cucomplex", translate_cucomplex), ("jitify", jitify)):
            if given:
                raise ValueError(f"{word}={given!r} is for cupy.RawKernel: {REFUSED[word]}")
        self.source = code  # plain: the compiler takes no subclass, such as a region
        self.name = name
        self._names = tuple(names) or (name,)
        self.options = tuple(options)
        self.filename = filename
        self.rewrite = rewrite
        self.enable_cooperative_groups = enable_cooperative_groups
        self.needs = capability.needed(self.source, filename) if needs is None else needs
        built = self._build("compute_90")
        self._take(built.ptx, built.lowered[name])

    @classmethod
    def from_ptx(
        cls,
        text: str,
        name: str = "",
        *,
        source: str = "",
        options: Sequence[str] = (),
        filename: str = "kernel.ptx",
        enable_cooperative_groups: bool = False,
    ) -> Self:
        """A kernel of PTX that any compiler has made, or a hand.

        `name` is its entry's, which may be left out where there is one alone. `source` is the CUDA
        C++ that it was made from with these `options`, if there is any: the names of parameters and
        of arrays in shared memory are read from it. It runs, traces and sanitizes in the
        interpreter as any other; on a GPU the driver compiles it, so `cubin` and `resources` raise
        ValueError. So does this for PTX without that entry; what cannot be read is a
        ptx.ParseError at the first run.
        """
        entries = re.findall(r"^\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)", text, re.MULTILINE)
        if (name or len(entries) != 1) and name not in entries:
            asked = f"no entry {name}" if name else "no entry, or several: give the name of one"
            raise ValueError(f"{filename} has {asked}; it has {', '.join(entries) or 'none'}")
        kernel = cls.__new__(cls)
        kernel.source, kernel.options, kernel.filename = source, tuple(options), filename
        kernel.name, kernel.rewrite = name or entries[0], None
        kernel._names = (kernel.name,)
        kernel.enable_cooperative_groups = enable_cooperative_groups
        specific = re.search(r"^\s*\.target\s+sm_90a", text, re.MULTILINE)
        kernel.needs = capability.SPECIFIC if specific else capability.ANY
        kernel.made_elsewhere = True
        kernel._take(text, kernel.name)
        return kernel

    def _take(self, text: str, symbol: str) -> None:
        """Be the entry of this name in this PTX."""
        self.ptx, self.symbol, name = text, symbol, self.name
        known = parameters(self._defined(), name)
        params = declared(text, symbol)
        if len(known) != len(params):
            known = []  # the source was not understood
        self.parameter_names = tuple(parameter.name for parameter in known)
        self._converters = tuple(
            converter(p, known[n] if known else None) for n, p in enumerate(params)
        )
        self._called = tuple(
            f"args[{n}] of {name} ({f'{known[n].text} {known[n].name}' if known else f'.{p.type}'})"
            for n, p in enumerate(params)
        )
        self._traps_alone = "%envreg2" in text and "trap;" in text  # cooperative_groups.h
        self._loaded: dict[int, gpu.Loaded] = {}
        self._statics: Any = None
        self._set: dict[str, np.ndarray] = {}  # what `set` has set, by symbol

    def __repr__(self) -> str:
        by = ", compiled by clang" * self.by_clang
        return " ".join([f"<Kernel {self.name} of {self.filename}", *self.options]) + f"{by}>"

    def __reduce__(self) -> tuple[Any, ...]:
        common = "options", "filename", "enable_cooperative_groups"
        if self.made_elsewhere:
            more = {x: getattr(self, x) for x in ("source", *common)}
            return functools.partial(type(self).from_ptx, self.ptx, self.name, **more), ()
        words = {x: getattr(self, x) for x in (*common, "rewrite", "needs")}
        words["names"] = self._names
        return functools.partial(type(self), self.source, self.name, **words), ()

    @property
    def by_clang(self) -> bool:
        """Whether clang compiled it, so that there is no machine code."""
        return not self.made_elsewhere and clang.MADE in self.ptx

    @property
    def parameter_count(self) -> int:
        """How many arguments the kernel takes."""
        return len(self._converters)

    @functools.cached_property
    def entry(self) -> ptx.Entry:
        """The kernel as the interpreter reads it; raises ptx.ParseError."""
        return self._module.entries[self.symbol]

    @property
    def _module(self) -> ptx.Module:
        try:
            return _parse(self.ptx)
        except ptx.ParseError as error:
            raise ptx.ParseError(
                f'{error}\nThe interpreter cannot run {self.name}; with a GPU, device="gpu" does.'
            ) from None

    @property
    def _held(self) -> Any:
        """What the interpreter keeps from launch to launch."""
        if self._statics is None:
            self._statics = ptx.statics(self._module)
        return self._statics

    @functools.cached_property
    def _zero(self) -> dict[str, str]:
        """The `__constant__` variables that are zero unless `set`; none of PTX that a GPU alone
        can read."""
        if ".const " not in self.ptx:
            return {}
        with contextlib.suppress(ptx.ParseError), progress(f"reading {self.name}"):
            return variables.unset(self.entry, self._defined())
        return {}

    def _warn_of_zero(self) -> None:
        """Called by what a method calls that starts a run."""
        for symbol, name in self._zero.items():
            if symbol not in self._set:
                warnings.warn(
                    f"{self.name} reads __constant__ {name}, which nobody has set, so it is zero: "
                    f"kernel.set({name!r}, array) does what cudaMemcpyToSymbol does",
                    RuntimeWarning,
                    stacklevel=4,
                )

    def __call__(
        self,
        grid: Size,
        block: Size,
        args: Sequence[Any],
        device: str = "auto",
        shared_mem: int = 0,
        step_limit: int | None = None,
    ) -> None:
        """Run the kernel on `grid` blocks of `block` threads (1 to 3 numbers each).

        `args` are NumPy arrays, written in place (unless they are read-only: a GPU works on a copy
        of those, and in the interpreter a store to one is an error); CuPy arrays, which need the
        GPU; arrays of others that share their memory by DLPack or `__cuda_array_interface__`, such
        as PyTorch's and Numba's, which are used as if they were NumPy's or CuPy's; numbers; bytes
        for structs passed by value, a TensorMap for a CUtensorMap, and a Texture or Surface for a
        texture or surface object. `x[4:]` may be read before its start, as `x + 4` in C: as far as
        x goes and no other argument lies there. It starts on a multiple of 256 bytes all the same.
        `device` "auto" takes the GPU if there is one.
        `shared_mem` is in bytes. `step_limit`: how often a place in the code is passed before the
        interpreter takes a loop for endless; 2^20 without.

        Raises TypeError or ValueError for arguments that do not fit the kernel, gpu.NoGPU without
        a GPU, ptx.PTXError when it goes wrong in the interpreter.
        """
        grid, block = launch_size(grid, block, shared_mem)
        values = self.convert(args)
        where = choose_device(device, values, self.needs, shared_mem)
        self.launch(grid, block, values, where, shared_mem, step_limit)

    def launch(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        values: Sequence[Any],
        where: str,
        shared_mem: int = 0,
        step_limit: int | None = None,
    ) -> None:
        """`__call__` for those who have checked everything themselves.

        `values` are what `convert` gives: NumPy scalars of the parameters' very types, bytes, and
        C-contiguous arrays, CuPy's only on the GPU; `where` is "gpu" or "interpreter".
        """
        self._warn_of_zero()
        if where == "gpu":
            self._on_gpu(grid, block, values, shared_mem)
        else:
            self._interpret(_run, (grid, block, values), shared_mem, step_limit)

    def trace(
        self,
        grid: Size,
        block: Size,
        args: Sequence[Any],
        names: Sequence[str] = (),
        shared_mem: int = 0,
        keep: Sequence[Any] = (0, 0, 0),
        step_limit: int | None = None,
        **limits: Any,
    ) -> Trace:
        """Run the kernel in the interpreter, and count and keep its memory accesses.

        `names` are the arguments' names in the result (without, those of the source), `keep` is
        the block, x first, whose accesses are kept one by one, or a list of blocks; `limits`
        (`warps`, `folded`) as for `trace.trace`. Arrays are written, as by a call, and
        what a call raises is raised.
        """
        limits |= {"names": names or self.parameter_names, "keep": keep}
        return self._instrumented(trace, (grid, block, args), shared_mem, step_limit, **limits)

    def pipeline(
        self,
        grid: Size,
        block: Size,
        args: Sequence[Any],
        shared_mem: int = 0,
        keep: Sequence[int] = (0, 0, 0),
        step_limit: int | None = None,
    ) -> Pipeline:
        """Run the kernel in the interpreter, and keep who fills and who reads which bytes of
        shared memory in the block `keep`, x first, for `draw.pipeline`. Arrays are written, as by
        a call, and what a call raises is raised."""
        launch = grid, block, args
        return self._instrumented(pipeline, launch, shared_mem, step_limit, keep=keep)

    def sanitize(
        self,
        grid: Size,
        block: Size,
        args: Sequence[Any],
        shared_mem: int = 0,
        uninitialised: Sequence[int] | Mapping[int, np.ndarray] = (),
        step_limit: int | None = None,
    ) -> tuple[Finding, ...]:
        """Run the kernel in the interpreter and report its memory and barrier faults.

        Out of bounds or misaligned accesses, reads of memory that nobody wrote, races, barriers
        that not all threads reach, asynchronous copies not waited for, registers of wgmma touched
        too early: see `anywarp.sanitizer`.
        `uninitialised` are the indices of `args` whose contents count as not written yet; or a
        mapping of them to arrays of bool, which say what bytes were written before this launch
        and, afterwards, before the next one. Arrays are written, as by a call. Raises as a call
        does, but faults are findings, not errors.
        """
        options = {"uninitialised": uninitialised}
        return self._instrumented(sanitize, (grid, block, args), shared_mem, step_limit, **options)

    def set(self, name: str, value: Any) -> None:
        """Give a `__constant__` or `__device__` variable a value, as cudaMemcpyToSymbol does: in
        the interpreter, and on every GPU, be the kernel loaded there now or later.

        `name` is the source's, "table" or "ns::table". `value` is an array of the variable's dtype
        and size, of NumPy, CuPy or whoever shares its memory, or numbers that become one. Where the
        source's type cannot be read, as that of a struct, only the size counts. Raises ValueError
        for another size or name, TypeError for another dtype.
        """
        held = variables.find(self._module, self._defined(), name)
        data = self._set[held.symbol] = held.data(value)
        self._held.variables[held.symbol][:] = data
        for loaded in self._loaded.values():
            gpu.write_variable(loaded, held.symbol, data)

    def get(self, name: str, device: str = "auto") -> np.ndarray:
        """A copy of what a `__constant__` or `__device__` variable holds where a call with this
        `device` runs: an array of the source's dtype and extents, a vector type having one
        dimension more; of bytes where the type cannot be read. Raises ValueError for a name that
        the PTX lacks, gpu.NoGPU without a GPU."""
        held = variables.find(self._module, self._defined(), name)
        if choose_device(device, (), self.needs) == "gpu":
            return held.array(gpu.read_variable(self.loaded(), held.symbol, held.size))
        return held.array(self._held.variables[held.symbol].copy())

    def reset(self) -> None:
        """Give all variables the values of the source again, on every device."""
        self._loaded.clear()
        self._set.clear()
        self._statics = None

    def resources(self, arch: str = "sm_90") -> build.Resources:
        """Registers, stack, spills and shared memory on a GPU of compute capability `arch`."""
        return build.resources(self._build(arch), self.symbol)

    def cubin(self, arch: str = "sm_90") -> bytes:
        """The machine code for a GPU of compute capability `arch`, as an ELF file.

        Raises ValueError for "compute_90" and the like, for which there is PTX alone.
        """
        code = self.compiled(arch)
        return self.rewrite(code, arch)[0] if self.rewrite else code

    def compiled(self, arch: str = "sm_90") -> bytes:
        """The same as the compiler has made it, with no `rewrite`."""
        return self._build(arch).machine_code

    def why_not_rewritten(self, arch: str = "sm_90") -> str | None:
        """Why `cubin` is the compiler's own code though there is a `rewrite`; None if it is not."""
        return self.rewrite(self.compiled(arch), arch)[1] if self.rewrite else None

    def convert(self, args: Sequence[Any]) -> list[Any]:
        """Check `args` against the kernel's parameters, and convert the numbers.

        Raises TypeError, ValueError or OverflowError, naming the argument as the source does.
        """
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"args must be a tuple or list, not {type(args).__name__}: (x, n)")
        if len(args) != len(self._converters):
            raise TypeError(f"{self.name} takes {len(self._converters)} arguments, not {len(args)}")
        values: list[Any] = []
        try:
            for convert, value in zip(self._converters, args):
                values.append(convert(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"{self._called[len(values)]}: {error}") from None
        require_apart(values, self._called)
        return values

    def _build(self, arch: str) -> nvrtc.Compiled:
        if self.made_elsewhere:
            raise ValueError(f"{self.filename} is PTX, which the driver of a GPU alone compiles")
        parts = self.source, self.filename, self.options, self._names, arch
        return build.compile(*parts, self.needs, store.name_of(store.Recipe(*parts)))

    def _defined(self) -> str:
        """The source with the options' definitions before it, from which names are read."""
        return build.preamble(self.options) + self.source

    def _instrumented(
        self, run: Run[Result], launch: Any, shared_mem: int, step_limit: int | None, **options: Any
    ) -> Result:
        """A run with something that listens, refused for the reasons that a call is refused for."""
        grid, block = launch_size(launch[0], launch[1], shared_mem)
        values = self.convert(launch[2])
        choose_device("interpreter", values)
        options["source"] = self._defined()
        self._warn_of_zero()
        return self._interpret(run, (grid, block, values), shared_mem, step_limit, **options)

    def _interpret(
        self, run: Run[Result], launch: Any, shared_mem: int, step_limit: int | None, **options: Any
    ) -> Result:
        """The one place that starts the interpreter: `run` passes `running` on to ptx.run."""
        if step_limit is not None and not (isinstance(step_limit, int) and step_limit > 0):
            raise ValueError(f"step_limit must be a whole number above 0, not {step_limit!r}")
        with progress(self.name) as tell:
            require_shared(self.entry, self.name, shared_mem)
            if self.enable_cooperative_groups:
                grid, block, *_ = launch
                require_room(self.entry, self.name, grid, block, shared_mem)
            running: dict[str, Any] = {
                "names": namer(self.parameter_names, self._defined()),
                "progress": tell,
                "statics": self._held,
                "cooperative": self.enable_cooperative_groups,
            }
            if step_limit is not None:
                running["step_limit"] = step_limit
            return run(self.entry, *launch, shared_mem=shared_mem, running=running, **options)

    def loaded(self) -> gpu.Loaded:
        """The kernel on CuPy's current device."""
        number = gpu.current()
        loaded = self._loaded.get(number)
        if loaded is None:
            arch = gpu.arch()
            if self.rewrite and (reason := self.why_not_rewritten(arch)):
                text = f"{self.filename}: the compiler's own code runs: {reason}"
                warnings.warn(text, stacklevel=2)
            code = f"{self.ptx}\0".encode() if self.made_elsewhere else self.cubin(arch)
            loaded = gpu.load(code, self.symbol)
            if self.enable_cooperative_groups:
                loaded = loaded._replace(cooperative=True)
            self._loaded[number] = loaded
            for symbol, data in self._set.items():
                gpu.write_variable(loaded, symbol, data)
        return loaded

    def _on_gpu(
        self, grid: tuple[int, ...], block: tuple[int, ...], values: Sequence[Any], shared_mem: int
    ) -> None:
        """A launch on the current device, on copies of NumPy's arrays."""
        loaded = self.loaded()
        if self._traps_alone and not self.enable_cooperative_groups:
            warnings.warn(
                f"{self.name} has a grid group, whose sync() traps in a launch that is not "
                "cooperative: RawKernel(…, enable_cooperative_groups=True)",
                RuntimeWarning,
                stacklevel=4,
            )
        if not any(isinstance(x, (np.ndarray, TensorMap, Image)) for x in values):
            gpu.launch(loaded, grid, block, values, shared_mem)
            return
        held = [memory_of(x) for x in values]
        host = [x for x in held if isinstance(x, np.ndarray)]
        # by place: an array passed twice stays one array on the GPU
        there = {place_of(x): _to_device(x, host) for x in host}
        args = [there[place_of(x)] if isinstance(x, np.ndarray) else x for x in held]
        args = [x.encoded(y) if isinstance(x, TensorMap) else y for x, y in zip(values, args)]
        with handles(values, args) as args:
            gpu.launch(loaded, grid, block, args, shared_mem)
        for x in host:
            if x.flags.writeable:
                np.copyto(x, gpu.to_host(there[place_of(x)]))


def _to_device(x: np.ndarray, arguments: Sequence[np.ndarray]) -> Any:
    """A copy on the GPU, behind what may be read before its start, and aligned as without that."""
    before = lead(x, arguments)
    if not before.size:
        return gpu.to_device(x)
    room = np.zeros(-before.size % ALIGNMENT, np.uint8)
    whole = np.concatenate([room, before, x.reshape(-1).view(np.uint8)])
    return gpu.to_device(whole)[whole.size - x.nbytes :].view(x.dtype).reshape(x.shape)


def _source(code: str | os.PathLike[str], filename: str) -> tuple[str, str]:
    """The source that was given, or is in the file that was named, and what to call it. Raises
    TypeError, and OSError for a file that cannot be read."""
    if not isinstance(code, (str, os.PathLike)):
        raise TypeError(f"code must be CUDA C++ or the path of its file, not {type(code).__name__}")
    if isinstance(code, str) and not re.fullmatch(
        r"[^\n;{}#]+\.(cu|cuh|cpp|cxx|cc|c|h|hpp)\s*", code
    ):
        return str(code), filename
    path = Path(str(code).strip()) if isinstance(code, str) else Path(code)
    # older files have Latin-1 in their comments
    return path.read_text("utf-8", "replace"), str(path) if filename == FILENAME else filename


RawKernel = Kernel  # it is called as cupy.RawKernel is


def choose_device(
    device: str,
    arrays: Sequence[Any],
    needs: capability.Capability = capability.ANY,
    shared: int = 0,
) -> str:
    """Decide on "gpu" or "interpreter", given the arguments, the capability that is needed, and
    the bytes of dynamic shared memory of a block.

    Raises gpu.NoGPU when the GPU is asked for, or implied by CuPy arrays, and cannot be used.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device!r}")
    held = [memory_of(x) for x in arrays if not isinstance(x, np.generic)]
    on_gpu = any(map(gpu.is_device_array, held))
    if on_gpu and any(isinstance(x, np.ndarray) for x in held):
        raise TypeError("NumPy and CuPy arrays are mixed: pass one kind (cupy.asarray(x))")
    if on_gpu and device == "interpreter":
        raise TypeError("the interpreter takes NumPy arrays, not CuPy: pass cupy.asnumpy(x)")
    if device == "interpreter" or not (on_gpu or device == "gpu" or gpu.available()):
        return "interpreter"
    gpu.require()
    if needs == capability.ANY and shared <= capability.SHARED:
        return "gpu"
    lacking = capability.lacking(needs, shared, gpu.device())
    if lacking is None:
        return "gpu"
    if device == "auto" and not on_gpu:
        return "interpreter"
    raise gpu.NoGPU(f'this {lacking}: pass NumPy arrays and device="interpreter"')


def _run(entry: ptx.Entry, *launch: Any, shared_mem: int, running: dict[str, Any]) -> None:
    """A run with nothing that listens."""
    ptx.run(entry, *launch, shared_mem=shared_mem, **running)


@functools.cache
def _parse(text: str) -> ptx.Module:
    """The PTX as the interpreter reads it; the same text is read once."""
    module: ptx.Module = ptx.parse(text)
    return module
