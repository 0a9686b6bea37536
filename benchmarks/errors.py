"""How wrong products are, in float32 and on tensor cores: the largest error, in roundoffs.

`python -m benchmarks.errors OUTPUT` measures steps on a GPU beside cuBLAS in FP32 and in TF32: over
K, over how long tensor cores sum on their own, and in products of many kinds; and what it costs
to compute again what parts of numbers cannot hold.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kernels
from anywarp import gpu
from kernels.ladder.step import Step
from kernels.measure import accuracy, bench, cublas
from kernels.measure.accuracy import HARD, KINDS, SPOILT_KIND, STUDIED, largest_error, matrices
from kernels.measure.provenance import provenance
from kernels.records import CUBLAS, write

TF32 = "cublas TF32"
SIMT = "15_any_shape"  # a chain of FMAs
CHAINED = "20_tensor_cores CHAIN=0 FOLD=0"  # tensor cores sum along all of K
LABELS = (
    SIMT,
    "20_tensor_cores",
    "20_tensor_cores ALL=1",
    "20_tensor_cores FOLD=0",
    "20_tensor_cores KIND=1 PARTS=2 FOLD=0",
    "20_tensor_cores BK=32 KIND=2 PARTS=2 CHAIN=32 FOLD=0",
    "21_warpgroups",
    "23_skinny",
    "24_halves",
)
SIDE = 512  # M and N where K varies
DEPTHS = (1, 2, 3, 4, *(2**n for n in range(3, 15)))
CHAINS, CHAINED_DEPTH = (16, 32, 64, 128, 256, 4096), 4096
SHAPES = ((512, 512, 3), (1000, 1003, 17), (2048, 2048, 256), (1500, 2000, 2049), (300, 500, 16384))
HARD_SHAPES = (512, 512, 64), (512, 512, 4096)
SMALL = ((40, 50, 70), (130, 140, 33))  # products of which the bits are recorded
SPOILT_SIZE = 4096
TINY = 2.0**-120 * (1 + 2.0**-23)  # three BF16 do not hold it
SPOILT: dict[str, Callable[[Any, Any], Any]] = {  # what is put where, by what that is called
    "nothing": lambda A, B: None,
    "a tiny number in A": lambda A, B: A.__setitem__((1, 2), TINY),
    "a tiny number in B": lambda A, B: B.__setitem__((1, 2), TINY),
    "an infinity in A": lambda A, B: A.__setitem__((1, 2), np.inf),
    "tiny numbers in 32 rows of A": lambda A, B: A.__setitem__((slice(1, None, 128), 2), TINY),
    "tiny numbers alone in A": lambda A, B: A.__imul__(np.float32(2.0**-120)),
    **{kind: lambda A, B, kind=kind: replace(A, B, kind) for kind in ("distances", "opposed")},
}

Product = Callable[[Any, Any], Any]


def replace(A: Any, B: Any, kind: str) -> None:
    """Put matrices of a kind in place of square ones on a GPU."""
    for old, new in zip((A, B), matrices(kind, *A.shape, len(A))):
        old.set(new)


def measured() -> dict[str, Any]:
    """All of it. Raises NoGPU, ImportError without cuBLAS."""
    gpu.require()
    steps, chained = [kernels.step(label) for label in LABELS], kernels.step(CHAINED)
    products: dict[str, Product] = {
        CUBLAS: by_cublas,
        TF32: functools.partial(by_cublas, tf32=True),
        **{step.label: step for step in steps},
    }
    return {
        "provenance": provenance(cublas=cublas.version()),
        "side": SIDE,
        "errors": {kind: dict(over_depths(products, kind)) for kind in STUDIED},
        "chained depth": CHAINED_DEPTH,
        "chains": {kind: dict(over_chains(chained, kind)) for kind in STUDIED},
        "cases": list(cases(products)),
        "bits": {step.label: dict(bits(step)) for step in (*steps, chained)},
        "spoilt": {step.label: dict(spoilt_ms(step)) for step in steps if step.label != SIMT},
    }


def by_cublas(A: Any, B: Any, tf32: bool = False) -> Any:
    C = gpu.empty((A.shape[0], B.shape[1]))
    cublas.sgemm(A, B, C, tf32=tf32)
    return C


def on_gpu(kind: str, *shape: int) -> tuple[Any, Any]:
    A, B = matrices(kind, *shape)
    return gpu.to_device(A), gpu.to_device(B)


def errors(products: dict[str, Product], A: Any, B: Any) -> dict[str, float]:
    return {label: largest_error(product(A, B), A, B) for label, product in products.items()}


def over_depths(products: dict[str, Product], kind: str) -> Iterator[tuple[str, dict[str, float]]]:
    for K in DEPTHS:
        print(f"{kind}, K = {K}", flush=True)
        yield str(K), errors(products, *on_gpu(kind, SIDE, SIDE, K))


def over_chains(chained: Step, kind: str) -> Iterator[tuple[str, float]]:
    """Slices along K, whose products are added up in float32."""
    A, B = on_gpu(kind, SIDE, SIDE, CHAINED_DEPTH)
    for length in CHAINS:
        C = None
        for k in range(0, CHAINED_DEPTH, length):
            here = slice(k, k + length)
            C = chained(A[:, here], B[here], C, beta=0 if C is None else 1)
        yield str(length), largest_error(C, A, B)


def cases(products: dict[str, Product]) -> Iterator[dict[str, Any]]:
    for shapes, kinds in ((SHAPES, KINDS), (HARD_SHAPES, HARD)):
        for shape in shapes:
            for kind in kinds:
                found = errors(products, *on_gpu(kind, *shape))
                yield {"kind": kind, "shape": shape, "errors": found}


def bits(step: Step) -> Iterator[tuple[str, str]]:
    for kind in (*STUDIED, SPOILT_KIND):
        for shape in SMALL:
            C = step(*matrices(kind, *shape), device="gpu")
            yield f"{kind} {'x'.join(map(str, shape))}", accuracy.digest(C)


def spoilt_ms(step: Step) -> Iterator[tuple[str, float]]:
    """The median milliseconds of a product by what its matrices are spoilt with."""
    A, B = on_gpu("uniform", SPOILT_SIZE, SPOILT_SIZE, SPOILT_SIZE)
    C = gpu.empty((SPOILT_SIZE, SPOILT_SIZE))
    flush = bench.flusher()
    for name, spoil in SPOILT.items():
        spoilt = A.copy(), B.copy()
        spoil(*spoilt)
        work = functools.partial(step, *spoilt, C)
        bench.rounds([work], flush, 2, 0)
        (times,) = bench.rounds([work], flush, 5, 0)
        yield name, float(np.median(times))


def main(arguments: list[str]) -> None:
    write(Path(arguments[0]), json.dumps(measured(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
