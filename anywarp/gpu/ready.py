"""Launches that are made again and again, with everything prepared that can be."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import gpu

SLOTS = {"i": "i4x", "f": "f4x", "P": "Q", "M": "128s"}  # how an argument of each kind is packed


class Ready:
    """Launches, one after the other, of kernels that were loaded on the current device and take
    the same arguments, with everything prepared: a call queues them all on the current stream.

    Each launch is a kernel, its grid and block, and its bytes of dynamic shared memory. `kinds`
    has a letter for each argument: i for an int, f for a float, P for an address, which a call
    takes as numbers, and M for a tensor map, which it takes as bytes. Raises as `gpu.launch` does.
    """

    def __init__(
        self,
        launches: Sequence[tuple[gpu.Loaded, tuple[int, ...], tuple[int, ...], int]],
        kinds: str,
    ):
        for kernel, _, _, shared_mem in launches:
            if shared_mem > 0:
                gpu.allow_dynamic_shared(kernel, shared_mem)
        self.launches = tuple(launches)
        self._words = tuple(
            (kernel.function.ptr, *(*grid, 1, 1)[:3], *(*block, 1, 1)[:3], shared_mem)
            for kernel, grid, block, shared_mem in launches
        )
        self._pack = struct.Struct("<" + "".join(SLOTS[kind] for kind in kinds)).pack_into
        sizes = [struct.calcsize(f"<{SLOTS[kind]}") for kind in kinds]
        self._slots: Any = np.zeros(sum(sizes), np.uint8)
        self._places = np.cumsum([self._slots.ctypes.data, *sizes[:-1]], dtype=np.uint64)
        self._address = self._places.ctypes.data  # where the driver finds those of the arguments
        self._launch = gpu.launcher()
        self._lock = threading.Lock()  # of the slots, which the driver copies while it launches

    def __call__(self, *values: float | bytes) -> None:
        stream = gpu.stream()
        with self._lock:
            self._pack(self._slots, 0, *values)
            for at, words in enumerate(self._words):
                try:
                    self._launch(*words, stream, self._address, 0)
                except gpu.driver_errors() as error:
                    raise gpu.refused(*self.launches[at], error) from error
