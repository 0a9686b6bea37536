"""Rates and energy of products: by themselves, in turns with cuBLAS, and back to back for seconds.

`python -m benchmarks.sustained OUTPUT` times products of steps and cuBLAS on a GPU

- by itself: a launch at a time, the L2 overwritten before each, as by `kernels.measure.bench`;
- in turns with cuBLAS alone, in the same way;
- sustained: launched back to back for seconds, with NVML's counter of the GPU's total energy read
  meanwhile. It moves every 20 to 100 ms and is read when it moves, which makes a run exact to about
  1 in 1,000.

Power is the limit of large products, so each of these has a clock of its own, which is recorded.
"""

from __future__ import annotations

import ctypes
import functools
import json
import sys
import threading
import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import kernels
from anywarp import gpu
from anywarp.gpu import nvidia_smi
from kernels.measure import bench, cublas
from kernels.measure.product import Launch, launch_of, loaded_of, matrices
from kernels.records import CUBLAS, write

SIZES = (4096, 8192)
# in the order of the sustained runs: those with and without tensor cores take turns
LABELS = (
    *("11_thread_tile_8x8", "21_warpgroups", "14_double_buffering", "20_tensor_cores"),
    *(CUBLAS, "23_skinny", "19_machine_code"),
)
SECONDS = 12.5  # of a sustained run
SETTLE = 2.0  # of them, at its beginning, are not counted: the clock falls
BATCH_MS = 500.0  # of launches that are queued together
PAUSE = 0.4  # seconds between two readings of NVML
PATIENCE = 0.25  # seconds to wait for its energy counter to move
KEPT = "ms", "ms_p10", "ms_p90", "sm_clock_mhz", "throttle"  # of a `Record`


class Meter:
    """What NVML says of the current GPU."""

    def __init__(self, nvml: Any, address: str):
        self.nvml, self.gpu = nvml, ctypes.c_void_p()
        nvml.nvmlInit_v2()
        if nvml.nvmlDeviceGetHandleByPciBusId_v2(address.encode(), ctypes.byref(self.gpu)):
            raise OSError(f"NVML does not know the GPU at {address}")

    def ask(self, what: str, *of: int, kind: Any = ctypes.c_ulonglong) -> int:
        """The number that nvmlDeviceGet`what` gives. Raises OSError where it gives none."""
        value = kind()
        if error := getattr(self.nvml, f"nvmlDeviceGet{what}")(self.gpu, *of, ctypes.byref(value)):
            raise OSError(f"NVML does not say {what}: error {error}")
        return int(value.value)

    def sample(self, begin: float) -> dict[str, Any]:
        """Seconds since `begin`, joules since the driver was loaded, MHz of the SMs and what holds
        them down, just after the energy counter has moved."""
        energy = functools.partial(self.ask, "TotalEnergyConsumption")
        before, until = energy(), time.perf_counter() + PATIENCE
        while (now := energy()) == before and time.perf_counter() < until:
            time.sleep(0.002)
        at, mhz = time.perf_counter() - begin, self.ask("ClockInfo", 1, kind=ctypes.c_uint)
        reasons = nvidia_smi._throttle_names(hex(self.ask("CurrentClocksEventReasons")))
        return {"s": at, "joules": now / 1000, "mhz": mhz, "throttle": reasons or ()}


def meter() -> Meter:
    """The current GPU's. Raises OSError without NVML."""
    from cupy.cuda import runtime

    library = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
    return Meter(ctypes.CDLL(library), runtime.deviceGetPCIBusId(runtime.getDevice()))


def sustained(work: Launch, nvml: Meter) -> dict[str, Any]:
    """The launch back to back for SECONDS, two batches of launches queued at any time."""
    once = [gpu.event()]
    work()
    once.append(gpu.event())
    wait(once[-1])
    size = max(1, round(BATCH_MS / gpu.elapsed_ms(*once)))
    samples: list[dict[str, Any]] = []
    done, start = threading.Event(), time.perf_counter()

    def watch() -> None:
        while not done.wait(PAUSE):
            samples.append(nvml.sample(start))

    marks, watching = [gpu.event()], threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        while time.perf_counter() - start < SECONDS - BATCH_MS / 1000 or len(marks) < 3:
            for _ in range(size):
                work()
            marks.append(gpu.event())
            wait(marks[-2])
    finally:
        done.set()
        watching.join()
    gpu.synchronize()
    return summary(size, [gpu.elapsed_ms(*pair) for pair in pairwise(marks)], samples)


def wait(event: Any) -> None:
    """Until the GPU has passed an event."""
    event.synchronize()


def summary(size: int, batches: Sequence[float], samples: Sequence[Any]) -> dict[str, Any]:
    """Of the batches of `size` products, and of the samples, that begin after SETTLE: milliseconds
    of a product, watts by the energy counter, the median clock and what held it down."""
    begins = accumulate(batches, initial=0.0)
    settled = [ms for ms, begin in zip(batches, begins) if begin >= 1000 * SETTLE]
    first, *_, last = kept = [sample for sample in samples if sample["s"] >= SETTLE]
    return {
        "ms": fmean(settled) / size,
        "watts": (last["joules"] - first["joules"]) / (last["s"] - first["s"]),
        "sm_clock_mhz": median(sample["mhz"] for sample in kept),
        "throttle": sorted({reason for sample in kept for reason in sample["throttle"]}),
    }


def measure(nvml: Meter) -> dict[str, Any]:
    """All of it. Raises NoGPU, and CheckError for a wrong product."""
    steps = {label: kernels.step(label) for label in LABELS if label != CUBLAS}
    alone = bench.benchmark(list(steps.values()), SIZES, together=False)
    turns = {label: bench.benchmark([step], SIZES) for label, step in steps.items()}
    facts = {
        "power_limit_watts": nvml.ask("EnforcedPowerLimit", kind=ctypes.c_uint) / 1000,
        "sustained": f"launched back to back; after {SETTLE:.0f} s, watts by NVML's energy counter",
    }
    products: list[dict[str, Any]] = []
    for size in SIZES:
        _, _, matrix = matrices(size, size, size)
        C = gpu.empty((size, size))
        for label in LABELS:
            single = {name: getattr(alone.at(label, size), name) for name in KEPT}
            row: dict[str, Any] = {"step": label, "size": size, "alone": single}
            if label == CUBLAS:
                work: Launch = functools.partial(cublas.sgemm, matrix("A", 0), matrix("B", 0), C)
            else:
                work = launch_of(steps[label], loaded_of(steps[label]), matrix, C)
                beside = turns[label].at(label, size)
                row["in turns"] = {name: getattr(beside, name) for name in (*KEPT, "cublas_ms")}
            products.append(row | {"sustained": sustained(work, nvml)})
    return {"provenance": alone.provenance | facts, "products": products}


def main(arguments: list[str]) -> None:
    gpu.require()
    write(Path(arguments[0]), json.dumps(measure(meter()), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
