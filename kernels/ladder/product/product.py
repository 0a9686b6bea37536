"""A product, C = alpha A B + beta C: made of what a call gives, checked once, and handed on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anywarp import choose_device, gpu
from anywarp.capability import ANY, Capability
from anywarp.ptx import offset

from .arguments import FLOAT32, require_float32, require_no_mask
from .layout import extent, require_room

MAX_ELEMENTS = 2**31  # the kernels index with 32-bit integers


class Product(NamedTuple):
    """C = alpha A B + beta C of float32 matrices A (M, K), B (K, N) and C (M, N), all NumPy's or
    all CuPy's, computed `where`: "gpu" or "interpreter". C is None where a new one is made."""

    M: int
    N: int
    K: int
    A: Any
    B: Any
    C: Any
    alpha: float = 1
    beta: float = 0
    where: str = "gpu"

    @classmethod
    def of(
        cls,
        A: Any,
        B: Any,
        C: Any = None,
        alpha: Any = 1,
        beta: Any = 0,
        device: str = "auto",
        needs: Capability = ANY,
        shared: int = 0,
    ) -> Product:
        """The product that a call asks for, on a device as `choose_device` finds it. Raises
        TypeError or ValueError for what no step can take, and gpu.NoGPU."""
        A, B = _matrix("A", A), _matrix("B", B)
        C = None if C is None else _matrix("C", C)
        alpha, beta = require_float32("alpha", alpha), require_float32("beta", beta)
        (M, K), (rows, N) = A.shape, B.shape
        if rows != K:
            raise ValueError(
                f"A is {M} x {K} and B is {rows} x {N}: A needs as many columns as B has rows"
            )
        if M * N >= MAX_ELEMENTS:
            raise ValueError(
                f"C would have {M * N} elements; steps index with 32 bits: below 2**31"
            )
        if C is not None:
            _require_result(A, B, C)
        elif beta != 0:
            raise ValueError(f"beta = {beta} scales C, so C must be given")
        matrices = (A, B) if C is None else (A, B, C)
        where = choose_device(device, matrices, needs, shared)
        return cls(M, N, K, A, B, C, alpha, beta, where)

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N, K."""
        return self[:3]

    def named(self) -> dict[str, Any]:
        """The matrices that there are, by name."""
        return {name: x for name, x in zip("ABC", self[3:6]) if x is not None}

    def transposed(self) -> Product:
        """The same product, as C^T = B^T A^T."""
        C = None if self.C is None else self.C.T
        return self._replace(M=self.N, N=self.M, A=self.B.T, B=self.A.T, C=C)

    @property
    def alignment(self) -> int:
        """The largest power of two, up to 256, that divides the addresses of the matrices on the
        GPU and, of slices, what lies from a stored row to the next.

        NumPy arrays may lie anywhere: they are copied, to the GPU and into the interpreter's memory
        alike, and the copies start on multiples of 256 bytes, as new matrices on the GPU do; but
        for those that say where they lie, see `memory.Lying`.
        """
        together = 256
        for x in self.named().values():
            together |= _bits(x)
        return together & -together

    def require_alignment(self, label: str, alignment: int) -> None:
        """Raise ValueError for a matrix that is not on a multiple of `alignment` bytes, or for a
        slice whose rows are not; the step with this label needs that."""
        for name, x in self.named().items():
            if _bits(x) % alignment:
                on_host = isinstance(x, np.ndarray)
                rows = (offset(x) if on_host else x.data.ptr) % alignment == 0
                lies = "has rows at addresses that are" if rows else "is at an address that is"
                raise ValueError(
                    f"{name} {lies} no multiple of {alignment} bytes (a slice?), which {label} "
                    f"needs: pass a copy, {'np' if on_host else 'cupy'}.array({name})"
                )


def _bits(x: Any) -> int:
    """Those of the address and of the pitch in bytes."""
    address = offset(x) if isinstance(x, np.ndarray) else x.data.ptr
    whole = x.flags.c_contiguous or x.flags.f_contiguous
    return int(address if whole else address | max(x.strides))


def _matrix(name: str, x: Any) -> Any:
    """x as a matrix of NumPy or CuPy, not copied. Raises TypeError or ValueError for what is no
    float32 matrix that 32 bits index."""
    if not gpu.is_shared(x):
        raise TypeError(
            f"{name} must be a NumPy or CuPy array, not {type(x).__name__}: "
            f"np.asarray({name}, dtype=np.float32)"
        )
    try:
        x = gpu.as_array(x)
    except TypeError as error:
        raise TypeError(f"{name} {error}") from None
    require_no_mask(name, x)
    if x.dtype is not FLOAT32 and x.dtype != FLOAT32:
        raise TypeError(f"{name} must be float32, not {x.dtype}: {name}.astype(np.float32)")
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix, not of shape {x.shape}")
    if x.size >= MAX_ELEMENTS:
        raise ValueError(f"{name} has {x.size} elements; steps index with 32 bits: below 2**31")
    if not x.flags.c_contiguous and extent(x) >= MAX_ELEMENTS * x.itemsize:
        raise ValueError(
            f"{name} reaches over {extent(x) // x.itemsize} elements, with those between its rows; "
            "steps index with 32 bits: below 2**31"
        )
    return x


def _require_result(A: Any, B: Any, C: Any) -> None:
    """Raise ValueError unless A B can be stored in C while A and B are read."""
    shape = A.shape[0], B.shape[1]
    if C.shape != shape:
        raise ValueError("C is {} x {}, but A B is {} x {}".format(*C.shape, *shape))
    require_room({"C": C}, {"A": A, "B": B})
