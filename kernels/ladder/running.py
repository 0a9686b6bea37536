"""A product by a step: its launches, one after the other, on matrices and a workspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from anywarp import Finding, Kernel, gpu
from anywarp.sanitizer import merged
from anywarp.tensor_map import Mapped, encode

from ..analysis.reference import inputs
from .calls import known, pitch, queue
from .compiled import Compiled
from .launches import PARAMETERS
from .product.layout import laid_out, memory_of, poisoned, to_read
from .product.product import Product

OF_C, EXTRA = PARAMETERS.index("C"), len(PARAMETERS)  # places among a kernel's arguments


def run(step: Compiled, product: Product) -> Any:
    """Compute a product by a step that can do it and reads the matrices as they are stored, and
    return C, a new matrix if the product has none. Raises ValueError for an address that the step
    cannot read."""
    on_host = isinstance(product.A, np.ndarray)
    if product.C is None:
        C = (np if on_host else gpu).empty((product.M, product.N), np.float32)
        product = product._replace(C=C)
    if product.M == 0 or product.N == 0:
        return product.C
    if np.float32(product.alpha) == 0:
        product = product._replace(K=0)  # nothing is summed, so nothing is read
    if not on_host:
        _on_gpu(step, product)
    elif product.where == "gpu":
        there = product._replace(**{x: gpu.to_device(y) for x, y in product.named().items()})
        _on_gpu(step._stored_as(there), there)
        np.copyto(product.C, gpu.to_host(there.C))
    else:
        product.require_alignment(step.label, step.alignment)
        values = arguments(step, product)
        for launch in step.launches(*product.shape):
            kernel = step.kernels[launch.kernel]
            kernel.launch(launch.grid, launch.block, values, product.where, launch.shared)
    return product.C


def _on_gpu(step: Compiled, product: Product) -> None:
    """Queue a product of CuPy arrays."""
    product.require_alignment(step.label, step.alignment)
    number = gpu.current()
    gpu.require_current(number, product.named())
    a, b, c = (gpu.address(x) for x in (product.A, product.B, product.C))
    queue(known(step, product), number, product.alpha, a, b, product.beta, c)


def arguments(step: Compiled, product: Product) -> tuple[Any, ...]:
    """The arguments of each launch: the matrices, and what the step's kernels take beside them."""
    M, N, K, A, B, C, alpha, beta, where = product
    size = step.workspace(M, N, K)  # on a GPU there is in it whatever there was
    room = poisoned(size) if where == "interpreter" else gpu.empty(-(-size // 4), np.float32)
    extra = [
        room if name == "workspace" else np.int32(pitch(step, name, product))
        for name in step.arguments
    ]
    for at, tile in step._tensor_maps(M, N, K):
        on_gpu = where != "interpreter"
        extra.append(encode(gpu.address(room) + at, tile) if on_gpu else Mapped(room, at, tile))
    if where == "interpreter":
        A, B, C = to_read(A, C), to_read(B, C), memory_of(C)
    scalars = np.int32(M), np.int32(N), np.int32(K)
    return (*scalars, np.float32(alpha), A, B, np.float32(beta), C, *extra)


def random(step: Compiled, M: int, N: int, K: int, beta: float = 0) -> tuple[Any, ...]:
    """The arguments of C = A B + beta C, of random matrices, in the interpreter."""
    A, B, C = inputs(M, N, K)
    A, B = laid_out(A, B, step.defines)
    return arguments(step, Product(M, N, K, A, B, C, 1, beta, "interpreter"))


def until(
    step: Compiled, name: str, M: int, N: int, K: int
) -> tuple[Kernel, tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], int]:
    """A kernel of C = A B, of random matrices: with grid, block and arguments of its launch, and
    its dynamic shared memory. What is launched before it is run.

    Raises ValueError for a kernel that is not launched for this shape.
    """
    launches = step.launches(M, N, K)
    names = [launch.kernel for launch in launches]
    if name not in names:
        raise ValueError(
            f"{step.label} does not launch {name} for M = {M}, N = {N}, K = {K}; "
            f"it launches {', '.join(names) or 'nothing'}"
        )
    values = random(step, M, N, K)
    *before, last = launches[: names.index(name) + 1]
    for launch in before:
        kernel = step.kernels[launch.kernel]
        kernel.launch(launch.grid, launch.block, values, "interpreter", launch.shared)
    return step.kernels[name], (last.grid, last.block, values), last.shared


def sanitized(step: Compiled, M: int, N: int, K: int, beta: float) -> tuple[Finding, ...]:
    """What is found in the launches of C = A B + beta C.

    Nobody has written the workspace before, nor C where beta is 0; what a launch writes, those
    after it may read.
    """
    values = random(step, M, N, K, beta)
    unwritten = [OF_C] if beta == 0 else []
    if "workspace" in step.arguments:
        unwritten.append(EXTRA + step.arguments.index("workspace"))
    written = {n: np.zeros(values[n].nbytes, bool) for n in unwritten}
    findings: list[Finding] = []
    for launch in step.launches(M, N, K):
        kernel = step.kernels[launch.kernel]
        findings += kernel.sanitize(launch.grid, launch.block, values, launch.shared, written)
    return merged(findings)
