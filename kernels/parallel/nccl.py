"""NCCL, NVIDIA's library for transfers between GPUs, as CuPy has it."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

from anywarp import gpu


@functools.cache
def load() -> Any:
    """CuPy's module of NCCL. Raises NoGPU, and ImportError with what to install without it."""
    gpu.require()
    # The switches between GPUs can add and copy by themselves (multicast). Nothing is added here,
    # and NCCL would reserve resources of the switches for it, which all GPUs of a machine share.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    import cupy
    from cupy.cuda import nccl

    if not nccl.available:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        raise ImportError(
            "several GPUs need NCCL, which CuPy cannot load; on Linux it is in the package "
            f"nvidia-nccl-cu{major}: `pip install nvidia-nccl-cu{major}`"
        )
    return nccl


@functools.cache
def communicators(devices: tuple[int, ...]) -> list[Any]:
    """A communicator for each of the GPUs, in one group; made once, which takes a second."""
    made: list[Any] = load().NcclCommunicator.initAll(list(devices))
    return made


@contextlib.contextmanager
def group() -> Iterator[None]:
    """The calls within are one work, in which none waits for another. No communicators are made
    within: NCCL would put that off to the end as well."""
    library = load()
    library.groupStart()
    try:
        yield
    finally:
        library.groupEnd()
