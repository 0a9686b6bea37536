"""A step with its kernels: compiled when they are first asked for, with other tile sizes, and as
the matrices of a product are stored."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from anywarp import Kernel
from anywarp.analysis import Occupancy, occupancy as occupancy_of
from anywarp.gpu.ready import Ready
from anywarp.tensor_map import BYTES

from ..machine.reordered import reordered
from .declared import Declared, remembered
from .launches import SYMBOL
from .product.layout import OTHER, form_of, reads
from .product.product import Product
from .source import known


class Compiled(Declared):
    """A step's file and its tile sizes, and the kernels that they make."""

    __call__: Callable[..., Any]  # C = alpha A B + beta C: see `Step`

    @property
    def kernel(self) -> Kernel:
        """The kernel that multiplies, compiled; raises build.CompileError."""
        return self.kernels[SYMBOL]

    @functools.cached_property
    def kernels(self) -> dict[str, Kernel]:
        """All kernels of the file by name, compiled in one go; raises build.CompileError, and
        ValueError for one that takes other arguments than the header says."""
        options, filename = self.options, self.path.name.replace(" ", "_")
        names = [launch.kernel for launch in self.file.launches]
        words: dict[str, Any] = {
            "filename": filename,
            "needs": self.compute_capability,
            "names": names,
            "rewrite": reordered if self.file.reordered else None,
        }
        if ptx := self.file.ptx:
            own: dict[str, Any] = {"options": options, "filename": f"{self.id}.ptx"}
            kernels = {x: Kernel.from_ptx(ptx, x, source=self.source, **own) for x in names}
        else:
            kernels = {name: Kernel(self.source, name, options, **words) for name in names}
        for kernel in kernels.values():
            if kernel.parameter_count != len(self.parameters):
                raise ValueError(
                    f"{filename}: {kernel.name} takes {kernel.parameter_count} arguments, not the "
                    f"{len(self.parameters)} that it is given: {', '.join(self.parameters)}"
                )
            require_types(kernel, self.parameters, [box.name for box in self.file.boxes])
        return kernels

    def occupancy(
        self, compute_capability: str | tuple[int, int] = "9.0", arch: str = "sm_90"
    ) -> Occupancy:
        """How many blocks of the kernel that multiplies an SM holds, if it is compiled for `arch`.

        Raises what `analysis.occupancy` does, and build.CompileError.
        """
        used, threads = self.kernel.resources(arch), math.prod(self.block)
        return occupancy_of(used, threads, compute_capability, self.shared_mem)

    def define(self, **overrides: int) -> Self:
        """The same step with other values, such as `define(BM=16)`.

        Raises ValueError for unknown names and for sizes below 1, TypeError for no whole numbers.
        What the kernel cannot do, its `static_assert`s refuse when it is compiled.
        """
        for name, value in overrides.items():
            if name in self.defines and not isinstance(value, (int, np.integer)):
                raise TypeError(f"{name} must be a whole number, not {value!r}")
        changes = {name: int(value) for name, value in overrides.items() if name in self.defines}
        known(self.id, self.defines, overrides | changes)
        if self.file.ptx and self.defines != self.defines | changes:
            raise ValueError(f"{self.id} has PTX of its own, for one tile: define first, then edit")
        return replace(self, defines=self.defines | changes)

    @remembered
    def _ready(self, number: int, M: int, N: int, K: int) -> tuple[Ready, int]:
        """What a call queues on a GPU, and the bytes of its workspace: by the number of the current
        device and M, N, K."""
        launches = [
            (self.kernels[launch.kernel].loaded(), launch.grid, launch.block, launch.shared)
            for launch in self.launches(M, N, K)
        ]
        extra = ["P" if name == "workspace" else "i" for name in self.arguments]
        extra += "M" * len(self.file.boxes)
        return Ready(launches, "iiifPPfP" + "".join(extra)), self.workspace(M, N, K)

    def _stored_as(self, product: Product) -> Self:
        """This step, or the one with other TRANS_A and TRANS_B that reads these matrices as they
        are stored. Raises ValueError for a matrix that it cannot read so."""
        named = product.named()
        if not self._transposed and all(x.flags.c_contiguous for x in named.values()):
            return self
        read: dict[str, int] = {}
        for name, x in named.items():
            transposed = reads(name, x, self.defines, self.arguments)
            if transposed is None:
                copy = f"np.ascontiguousarray({name})"
                if name == "C":  # the result would be in the copy alone
                    copy = f"C[...] = step(A, B, {copy}, alpha, beta)"
                some = name == "C" or form_of(x) != OTHER
                raise ValueError(
                    f"{name} is not C-contiguous (a transpose or a slice?), which {self.label} "
                    f"needs: {copy}{', or kernels.sgemm, which takes it as it is' * some}"
                )
            read[name] = transposed
        return self._storing(read["A"], read["B"])

    @remembered
    def _storing(self, trans_a: int, trans_b: int) -> Self:
        """This step with these values of TRANS_A and TRANS_B, where it has them; the same object,
        with its kernels, for the same values."""
        changes = (("TRANS_A", trans_a), ("TRANS_B", trans_b))
        changed = self.define(**{name: to for name, to in changes if name in self.defines})
        return self if changed == self else changed

    @functools.cached_property
    def _transposed(self) -> bool:
        return bool(self.defines.get("TRANS_A") or self.defines.get("TRANS_B"))


def require_types(kernel: Kernel, parameters: Sequence[str], maps: Sequence[str]) -> None:
    """Raise ValueError, with the file's name, for a kernel that takes other types than it is given:
    32 bits for a side, a pitch, alpha and beta, float32 matrices, any workspace, tensor maps."""
    given: dict[str, Any] = {"workspace": np.zeros(1, "V1"), **dict.fromkeys(maps, bytes(BYTES))}
    given |= dict.fromkeys(("alpha", "beta"), np.float32(1))
    given |= {name: np.zeros(1, np.float32) for name in "ABC"}
    values = [given.get(name, np.int32(1)) for name in parameters]
    try:
        taken = kernel.convert(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{kernel.filename}: {error}; matrices of a step are float, its numbers int and float"
        ) from None
    for name, value, other in zip(parameters[: len(parameters) - len(maps)], values, taken):
        kinds = {x.dtype.kind == "f" for x in (value, other)}
        if value.nbytes != other.nbytes or len(kinds) > 1:
            raise ValueError(
                f"{kernel.filename}: {kernel.name}: {name} must be of type "
                f"{'float' if value.dtype.kind == 'f' else 'int'}, of {value.nbytes} bytes"
            )
