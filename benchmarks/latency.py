"""What a GPU waits for and what hides it: latency and rate of loads and of multiply-adds.

`python -m benchmarks.latency OUTPUT` times the kernels of kernels/measure/latency.cu on a GPU: how
long a load takes, by the size of what is walked through; how many loads and multiply-adds come
through, by the number of warps on an SM and of independent chains in each thread; and the bytes a
second that each memory delivers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anywarp import capability, gpu
from anywarp.analysis import LANES, LINE_BYTES, SMS
from anywarp.gpu import nvidia_smi
from kernels.measure.latency import REPEATS, launch, median_ms, shared_bandwidth
from kernels.measure.provenance import provenance
from kernels.records import write

SIZES: tuple[int, ...] = tuple(2**n for n in range(14, 32))  # bytes: 16 KiB to 2 GiB
STEPS = 4096  # of a single warp
WARPS = (1, 2, 4, 8, 16, 32, 64)  # of an SM
LARGEST_BLOCK = 32  # warps
LOAD_CHAINS, FMA_CHAINS = (1, 2, 4), (1, 2, 4)
LOADS, FMAS = 480, 2**15  # steps of each chain
SHARED_WORDS = 1024  # WORDS of the source
THREADS, PART = 1024, 8192  # of `read`: threads of a block, float4 of a part
READS = {"L1": (1, 400), "L2": (192, 400), "device memory": (16384, 62)}  # parts and rounds


def cycle(lines: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A random walk through all `lines` of a cache line each, and back to its beginning.

    The order of the lines, and for each 4-byte word of them the index of the word to read next:
    lane i of a warp stays at word i of the lines, so that the warp reads a whole line.
    """
    order = np.random.default_rng(seed).permutation(lines).astype(np.int32)
    after = np.empty(lines, np.int32)
    after[order] = np.roll(order, -1)
    words = LINE_BYTES // 4
    return order, (after[:, None] * words + np.arange(words, dtype=np.int32)).ravel()


def lines_to_walk(warps: int, chains: int, steps: int) -> int:
    """As many as the largest of SIZES has, or more where so many warps would come by one twice."""
    return max(SIZES[-1] // LINE_BYTES, warps * chains * steps)


def starts(order: np.ndarray, warps: int, chains: int) -> np.ndarray:
    """Where each chain of each thread begins: as far apart on the cycle as can be."""
    number = warps * chains
    lines = order[np.arange(number) * (len(order) // number)].reshape(warps, 1, chains)
    lane = np.arange(LANES, dtype=np.int32).reshape(1, LANES, 1)
    return (lines * (LINE_BYTES // 4) + lane).ravel()


def latency_by_size() -> list[dict[str, Any]]:
    """One warp on an otherwise idle GPU: the cycles of a load, by the bytes walked through."""
    end, cycles = gpu.empty(LANES, np.int32), gpu.empty(LANES, np.int64)
    measured = []
    cached = 2 * gpu.device().l2_bytes
    for size in SIZES:
        order, following = cycle(size // LINE_BYTES)
        start, there = gpu.to_device(starts(order, 1, 1)), gpu.to_device(following)
        warm = len(order) if size <= cached else 0  # what cannot stay need not be fetched before
        args = (np.int32(warm), np.int32(STEPS), start, there, end, cycles)
        median_ms(launch("follow", 1, LANES, args))
        measured.append({"bytes": size, "cycles": float(np.median(gpu.to_host(cycles))) / STEPS})
    return measured


def single(name: str, *args: Any) -> float:
    """The cycles of a step of one warp of another kernel."""
    end, cycles = gpu.empty(LANES, np.int32), gpu.empty(LANES, np.int64)
    median_ms(launch(name, 1, LANES, (np.int32(STEPS), *args, end, cycles)))
    return float(np.median(gpu.to_host(cycles))) / STEPS


def by_warps(name: str, steps: int, all_chains: Sequence[int]) -> list[dict[str, Any]]:
    """All SMs at work: time of a launch by the warps of an SM and the chains of a thread.

    Shared memory that nobody uses keeps the blocks of an SM to those that are meant.
    """
    device = gpu.device()
    most = SMS[capability.text(device.compute_capability)].warps
    sizes = [w for w in WARPS if w <= most]
    if name == "follow":
        lines = lines_to_walk(device.multiprocessors * sizes[-1], max(all_chains), steps)
        order, following = cycle(lines)
        there = gpu.to_device(following)
    measured = []
    for chains in all_chains:
        for warps in sizes:
            blocks = -(-warps // LARGEST_BLOCK)
            grid, block = device.multiprocessors * blocks, warps // blocks * LANES
            all_warps = device.multiprocessors * warps
            end = gpu.empty(all_warps * LANES * chains, np.float32)
            cycles = gpu.empty(all_warps * LANES, np.int64)
            if name == "follow":
                start = gpu.to_device(starts(order, all_warps, chains))
                args: tuple[Any, ...] = (np.int32(0), np.int32(steps), start, there, end, cycles)
            else:
                args = (np.int32(steps), np.float32(0.999), np.float32(0.001), end, cycles)
            shared = device.shared_bytes_per_block // blocks - 2048
            ms = median_ms(launch(name, grid, block, args, chains, shared))
            waited = float(np.median(gpu.to_host(cycles))) / steps
            measured.append(
                {"warps": warps, "chains": chains, "steps": steps, "ms": ms, "cycles": waited}
            )
    return measured


def bandwidths() -> dict[str, float]:
    """GB/s that all SMs together read from each memory."""
    device = gpu.device()
    x = gpu.empty(4 * PART * max(parts for parts, _ in READS.values()))
    gpu.fill_bytes(x, 0)
    measured = {}
    for memory, (parts, rounds) in READS.items():
        grid = 2 * device.multiprocessors
        args = (np.int32(rounds), np.int32(parts), x, gpu.empty(grid * THREADS))
        ms = median_ms(launch("read", grid, THREADS, args))
        measured[memory] = grid * rounds * PART * 16 / (ms * 1e6)
    return {"shared memory": shared_bandwidth(), **measured}


def measure() -> dict[str, Any]:
    """All of it. Raises NoGPU."""
    gpu.require()
    order, following = cycle(SHARED_WORDS * 4 // LINE_BYTES)
    start, there = gpu.to_device(starts(order, 1, 1)), gpu.to_device(following)
    measured = {
        "latency": {
            "multiply-add": single("multiply", np.float32(0.999), np.float32(0.001)),
            "shared memory": single("follow_shared", start, there),
            "by size": latency_by_size(),
        },
        "loads": by_warps("follow", LOADS, LOAD_CHAINS),
        "multiply-adds": by_warps("multiply", FMAS, FMA_CHAINS),
        "read_gbs": bandwidths(),
    }
    device = gpu.device()
    more = {
        "multiprocessors": device.multiprocessors,
        "max_sm_clock_mhz": device.clock_mhz,
        "sm_clock_mhz": nvidia_smi.status().sm_clock_mhz,
        "l2_bytes": device.l2_bytes,
        "what": f"CUDA events around single launches, median of {REPEATS}; the L2 overwritten "
        "before each; cycles by clock64, median of the threads",
    }
    return {"provenance": provenance(**more), **measured}


def main(arguments: list[str]) -> None:
    write(Path(arguments[0]), json.dumps(measure(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
