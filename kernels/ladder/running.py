"""A product by a step: its launches, one after the other, on matrices and a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anywarp import gpu
from anywarp.gpu.ready import Ready
from anywarp.kernel import Kernel
from anywarp.sanitizer.findings import Finding, merged

from ..analysis.reference import inputs
from .calls import pitch, product, queue
from .product.arguments import require_alignment
from .product.layout import laid_out, memory_of, poisoned, to_read

PARAMETERS = ("M", "N", "K", "alpha", "A", "B", "beta", "C")  # of a kernel, and what follows
OF_C, EXTRA = PARAMETERS.index("C"), len(PARAMETERS)  # places among them


def run(
    step: Any,
    M: int,
    N: int,
    K: int,
    A: Any,
    B: Any,
    C: Any,
    alpha: float,
    beta: float,
    where: str,
) -> Any:
    """What a call of a step does once it is known that the step can do the product, and where."""
    on_host = isinstance(A, np.ndarray)
    if C is None:
        C = (np if on_host else gpu).empty((M, N), np.float32)
    if M == 0 or N == 0:
        return C
    if np.float32(alpha) == 0:
        K = 0  # nothing is summed, so nothing is read
    if not on_host:
        _on_gpu(step, M, N, K, A, B, C, alpha, beta)
    elif where == "gpu":
        A, B, there = gpu.to_device(A), gpu.to_device(B), gpu.to_device(C)
        _on_gpu(step.stored_as(A, B, there), M, N, K, A, B, there, alpha, beta)
        np.copyto(C, gpu.to_host(there))
    else:
        require_alignment(step.label, step.alignment, A, B, C)
        values = arguments(step, M, N, K, alpha, A, B, beta, C, where)
        for one in step.launches(M, N, K):
            step.kernels[one.kernel].launch(one.grid, one.block, values, where, one.shared)
    return C


def _on_gpu(
    step: Any, M: int, N: int, K: int, A: Any, B: Any, C: Any, alpha: float, beta: float
) -> None:
    require_alignment(step.label, step.alignment, A, B, C)
    number = gpu.current()
    gpu.require_current(number, {"A": A, "B": B, "C": C})
    a, b, c = (gpu.address(x) for x in (A, B, C))
    queue(product(step, M, N, K, A, B, C), number, alpha, a, b, beta, c)


def ready(step: Any, M: int, N: int, K: int) -> tuple[Ready, int]:
    """The launches of a product on CuPy's current device, and the bytes of their workspace."""
    launches = [
        (step.kernels[one.kernel].loaded(), one.grid, one.block, one.shared)
        for one in step.launches(M, N, K)
    ]
    kinds = "iiifPPfP" + "".join("P" if name == "workspace" else "i" for name in step.arguments)
    return Ready(launches, kinds), step.workspace(M, N, K)


def arguments(
    step: Any, M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any, where: str
) -> tuple[Any, ...]:
    """The arguments of each launch: the matrices, and what the step's kernels take beside them."""
    extra: tuple[Any, ...] = ()
    if step.arguments:
        extra = tuple(
            workspace(step.workspace(M, N, K), where)
            if name == "workspace"
            else np.int32(pitch(step, name, {"lda": A, "ldb": B, "ldc": C}[name]))
            for name in step.arguments
        )
    if where == "interpreter":
        A, B, C = to_read(A, C), to_read(B, C), memory_of(C)
    scalars = np.int32(M), np.int32(N), np.int32(K)
    return (*scalars, np.float32(alpha), A, B, np.float32(beta), C, *extra)


def require_types(kernel: Kernel, parameters: Sequence[str]) -> None:
    """Raise ValueError, with the file's name, for a kernel that takes other types than it is given:
    32 bits for a side, a pitch, alpha and beta, float32 matrices, and any workspace."""
    given: dict[str, Any] = {"workspace": np.zeros(1, "V1")}
    given |= dict.fromkeys(("alpha", "beta"), np.float32(1))
    given |= {name: np.zeros(1, np.float32) for name in "ABC"}
    values = [given.get(name, np.int32(1)) for name in parameters]
    try:
        taken = kernel.convert(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{kernel.filename}: {error}; matrices of a step are float, its numbers int and float"
        ) from None
    for name, value, other in zip(parameters, values, taken):
        kinds = {x.dtype.kind == "f" for x in (value, other)}
        if value.nbytes != other.nbytes or len(kinds) > 1:
            raise ValueError(
                f"{kernel.filename}: {kernel.name}: {name} must be of type "
                f"{'float' if value.dtype.kind == 'f' else 'int'}, of {value.nbytes} bytes"
            )


def workspace(size: int, where: str) -> Any:
    """An array of so many bytes: full of NaN in the interpreter, whatever there is on a GPU."""
    return poisoned(size) if where == "interpreter" else gpu.empty(-(-size // 4), np.float32)


def random(step: Any, M: int, N: int, K: int, beta: float = 0) -> tuple[Any, ...]:
    """The arguments of C = A B + beta C, of random matrices, in the interpreter."""
    A, B, C = inputs(M, N, K)
    return arguments(step, M, N, K, 1, *laid_out(A, B, step.defines), beta, C, "interpreter")


def until(
    step: Any, name: str, M: int, N: int, K: int
) -> tuple[Kernel, tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], int]:
    """A kernel of C = A B, of random matrices: with grid, block and arguments of its launch, and
    its dynamic shared memory. What is launched before it is run.

    Raises ValueError for a kernel that is not launched for this shape.
    """
    launches = step.launches(M, N, K)
    names = [one.kernel for one in launches]
    if name not in names:
        raise ValueError(
            f"{step.label} does not launch {name} for M = {M}, N = {N}, K = {K}; "
            f"it launches {', '.join(names) or 'nothing'}"
        )
    values = random(step, M, N, K)
    *before, last = launches[: names.index(name) + 1]
    for one in before:
        step.kernels[one.kernel].launch(one.grid, one.block, values, "interpreter", one.shared)
    return step.kernels[name], (last.grid, last.block, values), last.shared


def sanitized(step: Any, M: int, N: int, K: int, beta: float) -> tuple[Finding, ...]:
    """What is found in the launches of C = A B + beta C.

    Nobody has written the workspace before, nor C where beta is 0; what a launch writes, those
    after it may read.
    """
    values = random(step, M, N, K, beta)
    unwritten = [OF_C] if beta == 0 else []
    if "workspace" in step.arguments:
        unwritten.append(EXTRA + step.arguments.index("workspace"))
    written = {n: np.zeros(values[n].nbytes, bool) for n in unwritten}
    found: list[Finding] = []
    for one in step.launches(M, N, K):
        kernel = step.kernels[one.kernel]
        found += kernel.sanitize(one.grid, one.block, values, one.shared, written)
    return merged(found)
