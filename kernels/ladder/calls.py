"""Calls that are made again: a product of CuPy arrays like one before is queued without another
look at what their shapes and strides alone decide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from anywarp import gpu
from anywarp.tensor_map import encode

from .compiled import Compiled
from .declared import Declared
from .launches import Placed
from .product.arguments import FLOAT32, FLOAT32_MAX
from .product.layout import extent, pitch_of
from .product.product import Product

ON_GPU = ("auto", "gpu")  # where CuPy arrays may be asked to go
NUMBERS = (int, float)
LEAST = 2.0**-149  # of float32: a smaller alpha may be 0, which is another product
ADDRESSES = 255  # what of them decides about alignment
MOST_KNOWN = 4096


class Known(NamedTuple):
    """What is the same in all products of matrices of some shapes and strides."""

    step: Compiled  # which reads the matrices as they are stored
    M: int
    N: int
    K: int
    extra: tuple[Any, ...]  # what the kernels take after C; 0 for the workspace
    extents: tuple[int, int, int]  # of A, B and C, in bytes
    maps: tuple[Placed, ...]  # in the workspace; they follow `extra`
    swapped: bool  # A and B: it is C^T = B^T A^T


def known(step: Compiled, product: Product, swapped: bool = False) -> Known:
    """What is known of a product, which has a C, once a step is chosen for it."""
    M, N, K, A, B, C, *_ = product
    extra = (0 if name == "workspace" else pitch(step, name, product) for name in step.arguments)
    extents = extent(A), extent(B), extent(C)
    return Known(step, M, N, K, tuple(extra), extents, step._tensor_maps(M, N, K), swapped)


def pitch(step: Declared, argument: str, product: Product) -> int:
    """What lda, ldb or ldc is."""
    name = argument[-1].upper()
    elements = pitch_of(getattr(product, name), bool(step.defines.get(f"TRANS_{name}")))
    assert elements is not None, "the step has been chosen for these matrices"
    return elements


def queue(call: Known, number: int, alpha: float, a: int, b: int, beta: float, c: int) -> None:
    """Queue the launches of a product on the current stream of the current device, `number`: with
    the addresses of the matrices, and a workspace.

    CuPy's pool takes that back once all is queued, and keeps it for what the stream does next.
    """
    launches, size = call.step._ready(number, call.M, call.N, call.K)
    extra = call.extra
    if size:
        room = gpu.allocate(size)
        at = call.step.arguments.index("workspace")
        extra = (*extra[:at], room.ptr, *extra[at + 1 :])
        extra += tuple(encode(room.ptr + start, tile) for start, tile in call.maps)
    launches(call.M, call.N, call.K, alpha, a, b, beta, c, *extra)


class Calls:
    """The products of earlier calls, by what they have in common."""

    def __init__(self) -> None:
        self._known: dict[Any, Known] = {}

    def again(self, A: Any, B: Any, C: Any, alpha: float, beta: float) -> Any:
        """Queue C = alpha A B + beta C if there was such a product before, and return C, a new
        matrix if it is None; None if there was not."""
        if not self._known:
            return None
        key = _key(A, B, C, alpha, beta)
        call = self._known.get(key)
        if call is None:
            return None
        result = gpu.empty((call.M, call.N)) if C is None else C
        a, b, c = A.data.ptr, B.data.ptr, result.data.ptr
        if call.swapped:
            a, b = b, a
        of_a, of_b, of_c = call.extents
        if (a < c + of_c and c < a + of_a) or (b < c + of_c and c < b + of_b):
            return None  # they may overlap
        queue(call, key[0], alpha, a, b, beta, c)
        return result

    def remember(self, step: Compiled, asked: Product, done: Product) -> None:
        """The step has just done a product, and can do all that have as much in common, unless it
        asks for the values of alpha and beta. `done` has a C; its A and B are those that were asked
        for, or, of the transpose, theirs."""
        key = _key(*asked[3:8])
        if key is None or 0 in done.C.shape or step._asks_scalars(*done.shape):
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = known(step, done, swapped=done.A is not asked.A)


def _key(A: Any, B: Any, C: Any, alpha: float, beta: float) -> Any:
    """What decides how a product is queued, the number of the device first; None for what has to
    be looked at in every call."""
    if not (type(alpha) in NUMBERS and type(beta) in NUMBERS):
        return None
    if not (LEAST <= abs(alpha) <= FLOAT32_MAX and abs(beta) <= FLOAT32_MAX):
        return None
    if not (gpu.is_device_array(A) and type(A) is type(B) and A.dtype is B.dtype is FLOAT32):
        return None
    of_a, of_b = A.data, B.data
    number = gpu.current()
    if not number == of_a.device_id == of_b.device_id:
        return None
    low = of_a.ptr | of_b.ptr
    form: Any = None  # of a new matrix
    if C is not None:
        if type(C) is not type(A) or C.dtype is not FLOAT32 or C.data.device_id != number:
            return None
        low |= C.data.ptr
        form = C.shape, C.strides
    elif beta != 0:
        return None
    return number, A.shape, A.strides, B.shape, B.strides, form, low & ADDRESSES, beta == 0
