"""NCCL, NVIDIA's library for transfers between GPUs, as CuPy has it."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from anywarp import gpu

PAUSE = 1e-3  # seconds between two looks at whether the GPUs are done


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


_made: dict[tuple[int, ...], list[Any]] = {}


def communicators(devices: tuple[int, ...]) -> list[Any]:
    """A communicator for each of the GPUs, in one group; made once, which takes a second, and again
    after a fault."""
    library = load()
    try:
        for communicator in _made.get(devices, ()):
            communicator.check_async_error()
    except library.NcclError:
        abort()
    if devices not in _made:
        _made[devices] = library.NcclCommunicator.initAll(list(devices))
    return _made[devices]


def abort() -> None:
    """End what all communicators have under way, whose results are then worth nothing, and forget
    them. Those that come next are new."""
    while _made:
        _, members = _made.popitem()
        with contextlib.suppress(load().NcclError), _grouped():
            for communicator in members:
                communicator.abort()


@contextlib.contextmanager
def group() -> Iterator[None]:
    """The calls within are one work, in which none waits for another. No communicators are made
    within: NCCL would put that off to the end as well. After a fault all are dropped."""
    try:
        with _grouped():
            yield
    except load().NcclError:
        abort()
        raise


@contextlib.contextmanager
def _grouped() -> Iterator[None]:
    """The calls within are given to NCCL at the end, together."""
    library = load()
    library.groupStart()
    try:
        yield
    finally:
        library.groupEnd()


def wait(events: Sequence[Any], seconds: float) -> None:
    """Return when all of the events have passed.

    Raises TimeoutError if they have not within so many seconds, and NCCL's error as soon as it
    reports one; the communicators are aborted then.
    """
    end = time.monotonic() + seconds
    try:
        while not all(event.done for event in events):
            for communicator in (own for members in _made.values() for own in members):
                communicator.check_async_error()
            if time.monotonic() > end:
                raise TimeoutError(
                    f"the GPUs were not done within {seconds:g} s; their transfers were ended, and "
                    "what the product was to write is not the product"
                )
            time.sleep(PAUSE)
    except BaseException:  # Ctrl-C too, or the next synchronisation would hang
        abort()
        raise
