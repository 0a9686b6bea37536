"""The roof of each instruction that multiplies: multiply-adds that it does in a cycle of an SM.

`python -m benchmarks.roofs OUTPUT` times the kernel of roofs.cu on a GPU of compute capability 9.0,
for FFMA, `mma.sync` and `wgmma`: in one block, which no power limit slows down, by warps, kinds of
numbers, columns of a product and where its first factor lies; then one case of each on all SMs.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anywarp import build, gpu
from anywarp.analysis import LANES
from anywarp.capability import SPECIFIC
from anywarp.gpu import nvidia_smi
from kernels.measure.provenance import provenance
from kernels.records import write

SOURCE = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
WORDS = 16384  # of the source
BITS = {"BF16": 16, "FP16": 16, "TF32": 32, "FP32": 32}
PTX = {"BF16": "bf16", "FP16": "f16", "TF32": "tf32"}
RATE = "multiply_adds"  # of an SM in a cycle, as a row of the record has it
REPEATS = 5  # launches of one block, after one that does not count
LAUNCHES = 50  # of all SMs; the last third counts: until then, the clock has settled
CYCLES, ALL_CYCLES = 1_000_000, 40_000_000  # of a launch of one block and of all SMs, at least
ONE_BLOCK = 120 << 10  # bytes of shared memory: an SM has no room for two such blocks


class Case(NamedTuple):
    """An instruction, what it multiplies, and how many warps of a block issue it."""

    instruction: str  # "FFMA", "mma.sync" or "wgmma"
    kind: str
    warps: int
    m: int = 1  # rows, columns and depth of a product
    n: int = 1
    k: int = 1
    a: str = "registers"  # where the first factor lies; wgmma's second lies in shared memory

    @property
    def unroll(self) -> int:
        """Instructions in the body of the loop."""
        return {"FFMA": 512, "mma.sync": 32, "wgmma": 8}[self.instruction]

    @property
    def products(self) -> int:
        """Multiply-adds in one pass of all warps."""
        issuers = self.warps * {"FFMA": 4 * LANES, "mma.sync": 4, "wgmma": 1}[self.instruction] // 4
        return issuers * self.unroll * self.m * self.n * self.k

    @property
    def most(self) -> int:
        """What NVIDIA says of compute capability 9.0: multiply-adds of an SM in a cycle."""
        return 128 if self.instruction == "FFMA" else 2048 * 16 // BITS[self.kind]


def cases() -> Iterator[Case]:
    """All that one block is timed with."""
    yield from (Case("FFMA", "FP32", warps) for warps in (1, 2, 4, 8, 16, 32))
    for kind, warps in itertools.product(PTX, (1, 2, 4, 8, 16)):
        yield Case("mma.sync", kind, warps, 16, 8, 256 // BITS[kind])
    for kind, n, a in itertools.product(PTX, (64, 128, 256), ("registers", "shared memory")):
        yield Case("wgmma", kind, 4, 64, n, 256 // BITS[kind], a)


ALL_SMS = (
    *(Case("FFMA", "FP32", 32), Case("mma.sync", "FP16", 8, 16, 8, 16)),
    Case("wgmma", "BF16", 4, 64, 64, 16, "shared memory"),
)


def multiply(case: Case) -> str:
    """MULTIPLY of the source: an instruction of PTX with its operands."""
    kind, by_warp = PTX[case.kind], case.instruction == "mma.sync"
    sums = case.m * case.n // LANES // (1 if by_warp else 4)  # of a lane
    a = [f'"r"((a)[{i}])' for i in range(4)] if case.a == "registers" else ['"l"(a)']
    b = [f'"r"((b)[{i}])' for i in range(2)] if by_warp else ['"l"(b)']
    names = iter(f"%{i}" for i in range(sums + len(a) + len(b)))
    places = [", ".join(itertools.islice(names, count)) for count in (sums, len(a), len(b))]
    d, left, right = (f"{{{x}}}" if "," in x else x for x in places)
    shape = f"aligned.m{case.m}n{case.n}k{case.k}"
    if by_warp:
        text = f"mma.sync.{shape}.row.col.f32.{kind}.{kind}.f32 {d}, {left}, {right}, {d};"
    else:
        turned = 0 if case.kind == "TF32" else 1 if case.a == "registers" else 2
        scales = ", ".join(3 * ["1"] + turned * ["0"])
        text = f"wgmma.mma_async.sync.{shape}.f32.{kind}.{kind} {d}, {left}, {right}, {scales};"
    outputs = ", ".join(f'"+f"((d)[{i}])' for i in range(sums))
    return f'#define MULTIPLY(d, a, b) asm volatile("{text}" : {outputs} : {", ".join(a + b)})\n'


@functools.cache
def numbers(kind: str) -> np.ndarray:
    """WORDS words of normally distributed numbers."""
    x = np.random.default_rng(1).standard_normal(WORDS * 32 // BITS[kind], np.float32)
    if kind == "FP16":
        return x.astype(np.float16).view(np.uint32)
    bits = x.view(np.uint32)
    if kind == "BF16":
        return (bits >> 16).astype(np.uint16).view(np.uint32)
    return bits & np.uint32(0xFFFFE000) if kind == "TF32" else bits


def source(case: Case) -> tuple[str, tuple[str, ...], Any]:
    """Code, options and compute capability of a case."""
    defines = {"UNROLL": case.unroll, "THREADS": 1024 if case.instruction == "FFMA" else 512}
    if case.instruction == "wgmma":
        defines |= {"THREADS": 128, "N": case.n, "A_IN_REGISTERS": int(case.a == "registers")}
    options = tuple(f"-D{name}={value}" for name, value in defines.items())
    code = SOURCE if case.instruction == "FFMA" else multiply(case) + SOURCE
    return code, options, SPECIFIC if case.instruction == "wgmma" else (8, 0)


def compiled(case: Case, arch: str) -> Any:
    """Raises ValueError where the compiler has made something else of it."""
    code, options, needs = source(case)
    built = build.compile(code, "roofs.cu", options, ("multiply",), arch, needs)
    if "Performance Loss" in built.log or build.resources(built, "multiply").spill_stores:
        raise ValueError(f"{case}: one wgmma waits for the other, or registers are spilled")
    return built


def row(case: Case, blocks: int, times: int, cycles: int) -> dict[str, Any]:
    """A case with what was measured in so many launches of so many cycles: the median of blocks and
    launches. Of more than one block, when the clock has settled, TFLOPS and MHz as well, by CUDA
    events, and what nvidia-smi says holds the clock down."""
    built, passes = compiled(case, gpu.arch()), round(cycles * case.most / case.products)
    loaded = gpu.load(built.machine_code, built.lowered["multiply"])
    data, sums = gpu.to_device(numbers(case.kind)), gpu.empty(blocks * case.warps * LANES)
    notes = [gpu.empty((blocks, case.warps, 2), np.int64) for _ in range(times)]
    events = [gpu.event()]
    for note in notes:
        args = (np.int32(passes), data, sums, note)
        gpu.launch(loaded, (blocks,), (case.warps * LANES,), args, ONE_BLOCK)
        events.append(gpu.event())
    status = nvidia_smi.status() if blocks > 1 else None
    spans = [note[..., 1].max(1) - note[..., 0].min(1) for note in map(gpu.to_host, notes)]
    part = slice(1, None) if blocks == 1 else slice(times * 2 // 3, None)
    took = float(np.median([np.median(span) for span in spans][part]))
    found = case._asdict() | {RATE: case.products * passes / took}
    if status:
        ms = np.median([gpu.elapsed_ms(*pair) for pair in itertools.pairwise(events)][part])
        tflops = 2 * case.products * passes * blocks / ms / 1e9
        found |= {"tflops": tflops, "mhz": took / ms / 1000, "throttle": status.throttle}
    return found


def main(arguments: list[str]) -> None:
    """Measure it all. Raises NoGPU."""
    device = gpu.device()
    more = {
        "multiprocessors": device.multiprocessors,
        "max_sm_clock_mhz": device.clock_mhz,
        "what": "clock64 from the first warp's begin to the last one's end; one block: median of "
        f"{REPEATS} launches; all SMs: median of the last third of {LAUNCHES}, with CUDA events",
    }
    one = [row(case, 1, 1 + REPEATS, CYCLES) for case in cases()]
    every = [row(case, device.multiprocessors, LAUNCHES, ALL_CYCLES) for case in ALL_SMS]
    best = {f"{x['instruction']} {x['kind']}": x[RATE] for x in sorted(one, key=lambda x: x[RATE])}
    record = {"provenance": provenance(**more), "roofs": best, "one block": [], "all SMs": []}
    text = json.dumps(record, indent=1)
    for name, rows in (("one block", one), ("all SMs", every)):  # a row a line
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = text.replace(f'"{name}": []', f'"{name}": [\n{lines}\n ]', 1)
    write(Path(arguments[0]), text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
