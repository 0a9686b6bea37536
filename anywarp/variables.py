"""A kernel's `__constant__` and `__device__` variables, by the names of the source."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import gpu, ptx
from .arguments import check_dtype, dtype_of, is_masked
from .ptx.text.names import demangle
from .ptx.text.parser import mentioned
from .trace.arrays import array_shapes
from .trace.parameters import Parameter, initialised, variable


class Variable(NamedTuple):
    """`symbol` and `size`, in bytes, are the PTX's; `known`, a pointer to it, `dtype` and `shape`
    are the source's, or those of bytes where that cannot be read."""

    name: str
    symbol: str
    size: int
    known: Parameter | None
    dtype: str
    shape: tuple[int, ...]

    def data(self, value: Any) -> np.ndarray:
        """The bytes (uint8) of an array, or of numbers that fit the type. Raises TypeError for
        another dtype and ValueError for another size, naming the variable."""
        try:
            array = self._converted(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"{self.name}: {error}") from None
        if array.nbytes != self.size:
            raise ValueError(
                f"{self.name} has {self.size} bytes, and the value {array.nbytes}: "
                f"{array.dtype} of shape {array.shape}"
            )
        return array.reshape(-1).view(np.uint8)

    def _converted(self, value: Any) -> np.ndarray:
        """As an array of NumPy of the right dtype. Raises what lacks the variable's name."""
        if gpu.is_shared(value):
            there = gpu.as_array(value)
            array = there if isinstance(there, np.ndarray) else gpu.to_host(there)
            if is_masked(array):
                raise TypeError("is a masked array, and a kernel knows no masks: pass x.filled(0)")
            check_dtype(array.dtype, self.known)
            return np.ascontiguousarray(array)
        kind = np.asarray(value).dtype.kind
        if self.known and kind not in ("iubf" if "float" in self.dtype else "iub"):
            raise TypeError(f"{value!r} is no {self.dtype}")
        return np.array(value, self.dtype if self.known else None)

    def array(self, data: np.ndarray) -> np.ndarray:
        """The same bytes as an array of the type and shape that the source declares; a vector type
        is one dimension more."""
        return data.view(self.dtype).reshape(self.shape)


def _said(symbol: str) -> str:
    """What the source calls a variable, qualified unless its namespace has no name."""
    qualified = demangle(symbol, qualified=True)
    return demangle(symbol) if qualified.startswith("_INTERNAL_") else qualified


def find(module: ptx.Module, source: str, name: str) -> Variable:
    """The variable that the source calls so; the name may be qualified, "ns::table". Raises
    ValueError where there is none, or several."""
    called = {v.name: demangle(v.name, qualified=True) for v in module.variables}
    fitting = [v for v in module.variables if name in (v.name, called[v.name])]
    fitting = fitting or [v for v in module.variables if called[v.name].endswith(f"::{name}")]
    if len(fitting) != 1:
        what = "several variables" if fitting else "no variable"
        own = fitting or [v for v in module.variables if "cuda::" not in called[v.name]]
        names = ", ".join(_said(v.name) for v in own[:8])
        raise ValueError(f"the PTX has {what} {name}: {names or 'none at all'}")
    (found,), bare = fitting, demangle(name.rpartition("::")[2])
    known = variable(source, bare)
    dtype = dtype_of(known) if known else "uint8"
    count, rest = divmod(found.size, np.dtype(dtype).itemsize)
    if rest:  # another one of this name
        known, dtype, count = None, "uint8", found.size
    shapes = array_shapes(source, {bare: found.size})
    extents = tuple(n or 1 for n in shapes[bare].extents) if bare in shapes else ()
    shape = extents if prod(extents) == count else (*extents, -1)
    return Variable(name, found.name, found.size, known, dtype, shape)


def unset(entry: ptx.Entry, source: str) -> dict[str, str]:
    """The `__constant__` variables that the kernel reads and the source gives no value, so that
    they are zero: the symbol of each, and what the source calls it."""
    read = mentioned(entry, entry.functions, {v.name: v for v in entry.variables})
    return {
        v.name: _said(v.name)
        for v in entry.variables
        # of what the source sets to zero, the PTX says nothing
        if v.space == "const" and v.name in read and not v.data
        if not initialised(source, demangle(v.name))
    }
