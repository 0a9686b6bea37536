"""Any CUDA C++ kernel: compile it, and run it on a GPU or in the interpreter."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

import numpy as np

from .. import ptx
from ..instruments import trace
from ..instruments.findings import Finding
from ..instruments.sanitizer import sanitize
from . import build, gpu

DEVICES = ("auto", "gpu", "interpreter")
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024  # of a block


class Kernel:
    """A CUDA C++ kernel, as in `cupy.RawKernel`, that also runs without a GPU.

    `name` is an extern "C" symbol or a C++ name expression, such as "gemm<4, 8>". `options` go
    to the compiler (`-DBM=16`); `filename` is what its messages call the source. Compiles at
    once: raises build.CompileError with file, line and the compiler's words.
    """

    def __init__(
        self, source: str, name: str, options: Sequence[str] = (), filename: str = "kernel.cu"
    ):
        self.source = source
        self.name = name
        self.options = tuple(options)
        self.filename = filename
        built = self._build("compute_90")
        self.ptx = built.ptx
        self.symbol = built.lowered[name]
        self.entry = _parse(built.ptx).entries[self.symbol]

    def __repr__(self) -> str:
        return " ".join([f"<Kernel {self.name} of {self.filename}", *self.options]) + ">"

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence,
        device: str = "auto",
        dynamic_shared: int = 0,
    ) -> None:
        """Run the kernel on `grid` blocks of `block` threads (1 to 3 numbers each).

        `args` are NumPy arrays, written in place; CuPy arrays, which need the GPU; numbers; and
        bytes for structs passed by value. `device` "auto" takes the GPU if there is one.
        `dynamic_shared` is in bytes. Raises TypeError or ValueError for arguments that do not
        fit the kernel, gpu.NoGPU without a GPU, ptx.PTXError when it goes wrong in the
        interpreter.
        """
        grid, block = _launch_size(grid, block, dynamic_shared)
        values = self.convert(args)
        where = choose_device(device, values)
        if where == "interpreter":
            ptx.run(self.entry, grid, block, values, dynamic_shared=dynamic_shared)
        else:
            self._launch(grid, block, values, dynamic_shared)

    def launch(self, grid, block, values, where: str, dynamic_shared: int = 0) -> None:
        """A call with all decided: `values` as `convert` returns them, `where` "gpu" or
        "interpreter". NumPy arrays that the kernel only reads may be read-only, or overlap."""
        if where == "interpreter":
            ptx.run(self.entry, grid, block, values, dynamic_shared=dynamic_shared)
        else:
            self._launch(grid, block, values, dynamic_shared)

    def trace(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence,
        names: Sequence[str] = (),
        dynamic_shared: int = 0,
        keep: Sequence = (0, 0, 0),
        **limits,
    ) -> trace.Trace:
        """Run the kernel in the interpreter, and count and keep its memory accesses.

        `names` are the arguments' names in the result ("arg0", "arg1", … without), `keep` is the
        block, x first, whose accesses are kept one by one, or a list of blocks; `limits`
        (`warps`, `lines`, `folded`) as for `trace.trace`. Arrays are written, as by a call.
        """
        values = self.convert(args)
        defines = [o[2:].replace("=", " ", 1) for o in self.options if o.startswith("-D")]
        source = "".join(f"#define {define}\n" for define in defines) + self.source
        return trace.trace(
            self.entry, grid, block, values, names, dynamic_shared, keep, source, **limits
        )

    def sanitize(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence,
        dynamic_shared: int = 0,
        uninitialised: Sequence[int] = (),
    ) -> tuple[Finding, ...]:
        """Run the kernel in the interpreter and report its memory and barrier faults.

        Out of bounds or misaligned accesses, reads of memory that nobody wrote, races, barriers
        that not all threads reach, asynchronous copies not waited for: see `instruments.sanitizer`.
        `uninitialised` are the indices of `args` whose contents count as not written yet. Arrays
        are written, as by a call. Raises as a call does, but faults are findings, not errors.
        """
        grid, block = _launch_size(grid, block, dynamic_shared)
        values = self.convert(args)
        choose_device("interpreter", values)
        defined = [
            o.removeprefix("-D").replace("=", " ", 1) for o in self.options if o.startswith("-D")
        ]
        source = "".join(f"#define {text}\n" for text in defined) + self.source
        return sanitize(
            self.entry,
            grid,
            block,
            values,
            dynamic_shared=dynamic_shared,
            uninitialised=uninitialised,
            source=source,
        )

    def resources(self, arch: str = "sm_90") -> build.Resources:
        """Registers, stack, spills and shared memory on a GPU of compute capability `arch`."""
        return build.resources(self._build(arch), self.symbol)

    def cubin(self, arch: str = "sm_90") -> bytes:
        """The machine code for a GPU of compute capability `arch`, as an ELF file."""
        return self._build(arch).cubin

    def convert(self, args: Sequence) -> list:
        """Check `args` against the parameters that the PTX declares, and convert the numbers."""
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"args must be a tuple or list, not {type(args).__name__}: (x, n)")
        params = self.entry.params
        if len(args) != len(params):
            raise TypeError(f"{self.name} takes {len(params)} arguments, not {len(args)}")
        values = []
        for index, (value, param) in enumerate(zip(args, params)):
            try:
                values.append(_convert(value, param))
            except (TypeError, ValueError, OverflowError) as error:
                message = f"args[{index}] of {self.name} (.{param.type}): {error}"
                raise type(error)(message) from None
        _reject_overlaps(values)
        return values

    def _build(self, arch: str) -> build.Build:
        return build.compile(self.source, self.filename, self.options, (self.name,), arch)

    def _launch(self, grid, block, values, dynamic_shared) -> None:
        cubin = self._build(gpu.arch()).cubin
        # by id: an array passed twice stays one array on the GPU
        copies = {id(v): gpu.to_device(v) for v in values if isinstance(v, np.ndarray)}
        args = [copies.get(id(v), v) for v in values]
        gpu.launch(cubin, self.symbol, grid, block, args, dynamic_shared)
        for value in values:
            if isinstance(value, np.ndarray) and value.flags.writeable:
                np.copyto(value, gpu.to_host(copies[id(value)]))


def choose_device(
    device: str, arrays: Sequence, compute_capability: tuple[int, int] = (0, 0)
) -> str:
    """Decide on "gpu" or "interpreter", given the arguments and the capability that is needed.

    Raises gpu.NoGPU when the GPU is asked for, or implied by CuPy arrays, and cannot be used.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device!r}")
    on_gpu = any(gpu.is_device_array(x) for x in arrays)
    if on_gpu and any(isinstance(x, np.ndarray) for x in arrays):
        raise TypeError("NumPy and CuPy arrays are mixed: pass one kind (cupy.asarray(x))")
    if on_gpu and device == "interpreter":
        raise TypeError("the interpreter takes NumPy arrays, not CuPy: pass cupy.asnumpy(x)")
    if device == "interpreter" or not (on_gpu or device == "gpu" or gpu.available()):
        return "interpreter"
    gpu.require()
    found = gpu.device()
    if found.compute_capability >= compute_capability:
        return "gpu"
    if device == "auto" and not on_gpu:
        return "interpreter"
    needs, has = (".".join(map(str, x)) for x in (compute_capability, found.compute_capability))
    raise gpu.NoGPU(
        f"this needs a GPU of compute capability {needs}, and the {found.name} has {has}: "
        'pass NumPy arrays and device="interpreter"'
    )


@functools.cache
def _parse(text: str) -> ptx.Module:
    return ptx.parse(text)


def _launch_size(grid, block, dynamic_shared) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grid and block as tuples; raises TypeError or ValueError for what no launch can have."""
    grid = _dimensions("grid", grid, MAX_GRID)
    block = _dimensions("block", block, MAX_BLOCK)
    if math.prod(block) > MAX_THREADS:
        raise ValueError(
            f"block {block} has {math.prod(block)} threads; a block has at most {MAX_THREADS}"
        )
    if not isinstance(dynamic_shared, (int, np.integer)) or dynamic_shared < 0:
        raise ValueError(f"dynamic_shared must be a number of bytes, not {dynamic_shared!r}")
    return grid, block


def _dimensions(name: str, value, limits: tuple[int, int, int]) -> tuple[int, ...]:
    try:
        numbers = tuple(map(operator.index, value if isinstance(value, (tuple, list)) else [value]))
    except TypeError:
        raise TypeError(f"{name} must be 1 to 3 whole numbers, not {value!r}") from None
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"{name} must be 1 to 3 numbers, not {len(numbers)}: {value!r}")
    for axis, number, limit in zip("xyz", numbers, limits):
        if not 1 <= number <= limit:
            raise ValueError(f"{name}.{axis} is {number}; CUDA allows 1 to {limit}")
    return numbers


def _reject_overlaps(args: Sequence) -> None:
    arrays = [(i, x) for i, x in enumerate(args) if isinstance(x, np.ndarray)]
    for position, (i, x) in enumerate(arrays):
        for j, y in arrays[position + 1 :]:
            if x is not y and np.may_share_memory(x, y):
                raise ValueError(
                    f"args[{i}] and args[{j}] overlap in memory: pass the same array or a copy"
                )


def _convert(value, param):
    """One argument as the interpreter and the driver take it."""
    kind = param.type[0]  # u, s, f or b, as in PTX
    if isinstance(value, np.ndarray) or gpu.is_device_array(value):
        if kind == "f" or param.size != 8:
            raise TypeError("is an array, but the kernel takes a value here, not a pointer")
        return _array(value)
    if kind == "b":
        return _bytes(value, param)
    if isinstance(value, (bool, np.bool_, int, np.integer)) and kind in "us":
        return _integer(int(value), param)
    if isinstance(value, (bool, np.bool_, int, np.integer, float, np.floating)) and kind == "f":
        return _float(value, param)
    wanted = "a number with a fraction" if kind == "f" else "a whole number"
    pointer = " or, for a pointer, a NumPy array" if kind != "f" and param.size == 8 else ""
    raise TypeError(f"is a {type(value).__name__}, but must be {wanted}{pointer}")


def _array(value):
    if value.dtype.kind not in "biufcV" or value.dtype.hasobject:
        raise TypeError(f"has dtype {value.dtype}, which a kernel cannot read")
    if not value.flags.c_contiguous:
        raise ValueError("is not C-contiguous (a transpose or a slice?): pass a copy in C order")
    if not getattr(value.flags, "writeable", True):  # CuPy arrays have no such flag
        raise ValueError("is read-only, and kernels work in place: pass x.copy()")
    return value


def _bytes(value, param):
    """A struct (.b8), or a value that the PTX declares without a type: the size must be exact."""
    size = param.size
    if not isinstance(value, (bytes, np.generic)):
        raise TypeError(
            f"is a {type(value).__name__}, but must be bytes or a NumPy scalar of {size} bytes"
        )
    data = value if isinstance(value, bytes) else value.tobytes()
    if len(data) != size:
        raise ValueError(f"has {len(data)} bytes, but the kernel takes {size}")
    return data if param.type == "b8" else np.frombuffer(data, f"u{param.size}")[0]


def _integer(value: int, param):
    bits = 8 * param.size
    if not -(2 ** (bits - 1)) <= value < 2**bits:
        raise ValueError(f"{value} does not fit in {bits} bits")
    dtype = np.dtype(f"{'i' if param.type[0] == 's' else 'u'}{param.size}")
    return np.frombuffer((value % 2**bits).to_bytes(param.size, "little"), dtype)[0]


def _float(value, param):
    with np.errstate(over="ignore"):
        result = np.dtype(f"f{param.size}").type(value)
    if np.isinf(result) and not math.isinf(value):
        raise ValueError(f"{value} is too large for {8 * param.size} bits")
    return result
