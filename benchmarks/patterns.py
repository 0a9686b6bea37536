"""Address patterns of one warp, and what a GPU counts for them: test data for the analysis.

`python -m benchmarks.patterns OUTPUT` measures them under Nsight Compute, a launch for each.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anywarp import Kernel, gpu
from anywarp.analysis import LANES, LINE_BYTES
from anywarp.trace import PIPE, REQUESTS, SECTORS
from anywarp.trace.metrics import CONFLICTS, KINDS, SHARED_INSTRUCTIONS, WAVEFRONTS
from kernels.measure import profiling
from kernels.measure.provenance import provenance
from kernels.records import write

WIDTHS = (4, 8, 16)
ALL = 2**32 - 1
UNITS = 1024  # addresses lie in this many units of a lane's width,
NEAR = 256  # those of most patterns in so many
SEED = 1
METRICS = {
    "shared": (SHARED_INSTRUCTIONS, WAVEFRONTS, CONFLICTS, PIPE),
    "global": (REQUESTS, SECTORS, PIPE),
}

SOURCE = r"""
struct Lanes { unsigned unit[32]; };
template <typename T> __device__ unsigned folded(T x);
template <> __device__ unsigned folded(unsigned x) { return x; }
template <> __device__ unsigned folded(uint2 x) { return x.x ^ x.y; }
template <> __device__ unsigned folded(uint4 x) { return x.x ^ x.y ^ x.z ^ x.w; }
template <typename T> __device__ T made(unsigned x);
template <> __device__ unsigned made(unsigned x) { return x; }
template <> __device__ uint2 made(unsigned x) { return make_uint2(x, x + 1); }
template <> __device__ uint4 made(unsigned x) { return make_uint4(x, x + 1, x + 2, x + 3); }

// The result is wanted only if it has a value that it never has: nothing else is stored.
#define LOAD(name, type, memory) \
    extern "C" __global__ void name(const __grid_constant__ Lanes lanes, unsigned active, \
                                    type* data, unsigned* out) \
    { \
        memory \
        unsigned lane = threadIdx.x, unit = lanes.unit[lane], found = 1; \
        if (active >> lane & 1) \
            found = folded<type>(data[unit]); \
        if (found == 0x9e3779b9) \
            *out = found; \
    }
// The store is of unknown values; the load after it keeps it alive and does not happen.
#define STORE(name, type, memory) \
    extern "C" __global__ void name(const __grid_constant__ Lanes lanes, unsigned active, \
                                    type* data, unsigned* out) \
    { \
        memory \
        unsigned lane = threadIdx.x, unit = lanes.unit[lane]; \
        if (active >> lane & 1) \
            data[unit] = made<type>(active ^ lane); \
        __syncthreads(); \
        if (unit == 0x9e3779b9) \
            *out = folded<type>(data[unit ^ active]); \
    }
#define SHARED(type) __shared__ type s_data[UNITS]; data = s_data;
#define ALL_OF(make, kind) \
    make(shared_##kind##_4, unsigned, SHARED(unsigned)) make(global_##kind##_4, unsigned, ) \
    make(shared_##kind##_8, uint2, SHARED(uint2)) make(global_##kind##_8, uint2, ) \
    make(shared_##kind##_16, uint4, SHARED(uint4)) make(global_##kind##_16, uint4, )
ALL_OF(LOAD, load)
ALL_OF(STORE, store)
"""


class Pattern(NamedTuple):
    """Where the lanes go: `units[lane] * width` is a byte address; bit `lane` of `active`
    says whether it takes part."""

    name: str
    width: int
    units: tuple[int, ...]
    active: int

    @property
    def addresses(self) -> np.ndarray:
        return np.array(self.units, np.int64) * self.width

    @property
    def mask(self) -> np.ndarray:
        return np.array([self.active >> lane & 1 for lane in range(LANES)], bool)


def patterns(width: int) -> Iterator[Pattern]:
    """Structured ones, as matrix products have them and to either side of every rule, then
    random ones. The same list on every machine."""
    lanes = range(LANES)
    shapes = {
        f"stride {n}": [n * lane % NEAR for lane in lanes]
        for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33)
    }
    shapes["reversed"] = [31 - lane for lane in lanes]
    shapes["one unit on"] = [lane + 1 for lane in lanes]
    for n in (2, 4, 8, 16):
        shapes[f"groups of {n} alike"] = [lane // n for lane in lanes]
        shapes[f"period {n}"] = [lane % n for lane in lanes]
        shapes[f"period {n}, far"] = [lane % n * 33 % NEAR for lane in lanes]
        shapes[f"groups of {n}, far"] = [lane // n * 32 % NEAR for lane in lanes]
    for rows, columns in ((4, 8), (8, 4), (2, 16), (16, 2)):
        shapes[f"{rows} x {columns} rows"] = [lane // columns * 16 for lane in lanes]
        shapes[f"{rows} x {columns} tile"] = [
            lane // columns * 32 % NEAR + lane % columns for lane in lanes
        ]
        shapes[f"{rows} x {columns} turned"] = [
            lane % columns * 16 % NEAR + lane // columns for lane in lanes
        ]
    for n in (1, 2, 3, 4):
        shapes[f"without bit {n}"] = [(lane & ~n) * 5 % NEAR for lane in lanes]
        shapes[f"swapped by {n}"] = [lane ^ n for lane in lanes]
    line = LINE_BYTES // width  # units of a cache line
    for n in (1, 2, 4, 8):
        shapes[f"{32 // n} lines"] = [lane // n * line for lane in lanes]
        shapes[f"{32 // n} lines in turn"] = [lane % (32 // n) * line for lane in lanes]
        shapes[f"{32 // n} lines, each bank"] = [
            (lane // n * line + lane % line) % UNITS for lane in lanes
        ]
        shapes[f"{n} sectors a line"] = [lane // n * line + lane % n * line // 8 for lane in lanes]
    for name, units in shapes.items():
        yield Pattern(name, width, tuple(units), ALL)
    numbers = random.Random(SEED)

    def below(n: int) -> int:  # from random(), whose sequence Python promises to keep
        return int(numbers.random() * n)

    for n in range(72):
        reach = (4, 8, 16, 32, 64, NEAR)[n % 6]
        units = [below(reach) for _ in lanes]
        form = n // 6 % 5
        if form in (1, 2):  # pairs alike
            units = [units[lane & ~form] for lane in lanes]
        if form == 3:  # one half-warp in pairs, the other not
            units = [units[lane & ~1] if lane < 16 else units[lane] for lane in lanes]
        active = ALL
        if n >= 30:
            share = (0.9, 0.5, 0.2, 0.97)[n % 4]
            active = sum((numbers.random() < share) << lane for lane in lanes) or 1
        yield Pattern(f"random {n}", width, tuple(units), active)
    for n in range(24):  # anywhere, which is in many lines
        units = [below(32 * line) for _ in lanes]
        share = (1.1, 0.9, 0.5, 0.2)[n % 4]
        active = sum((numbers.random() < share) << lane for lane in lanes) or 1
        yield Pattern(f"far {n}", width, tuple(units), active)
    for a, b in ((1, 2), (2, 1), (1, 4), (3, 3), (1, 3), (4, 4)):  # halves alike in their own way
        yield Pattern(
            f"halves without {a}, {b}",
            width,
            tuple((u & ~(a if u < 16 else b)) * 3 % NEAR for u in lanes),
            ALL,
        )
        yield Pattern(
            f"halves without {a}, {b}, one idle",
            width,
            tuple((u & ~(a if u < 16 else b)) * 3 % NEAR for u in lanes),
            0xFFFF,
        )
    for n in (1, 2):
        for lane in (0, 5, 16, 31):  # all pairs alike but one, whose lane takes part or not
            units = [(u & ~n) * 3 % NEAR for u in lanes]
            units[lane] = (units[lane] + 8) % NEAR
            yield Pattern(f"but lane {lane} of {n}", width, tuple(units), ALL)
            yield Pattern(f"without lane {lane} of {n}", width, tuple(units), ALL ^ 1 << lane)
    for name, active in (
        ("lower half", 0xFFFF),
        ("upper half", 0xFFFF0000),
        ("even", 0x55555555),
        ("every other pair", 0x33333333),
        ("one lane", 1),
        ("last lane", 1 << 31),
        ("a lane a quarter", 0x01010101),
        ("quarters 0 and 2", 0x00FF00FF),
    ):
        for stride in (0, 1, 2, 16):
            yield Pattern(
                f"{name}, stride {stride}",
                width,
                tuple(stride * lane % NEAR for lane in lanes),
                active,
            )


def cases() -> Iterator[Pattern]:
    """In the order of their launches."""
    for width in WIDTHS:
        yield from patterns(width)


def arguments(pattern: Pattern) -> tuple[Any, ...]:
    data = np.zeros(UNITS * pattern.width // 4, np.uint32)
    return (
        np.array(pattern.units, np.uint32).tobytes(),
        pattern.active,
        data,
        np.zeros(1, np.uint32),
    )


def launch(space: str, kind: str) -> None:
    """What runs under ncu: every case, once."""
    kernels = {
        width: Kernel(SOURCE, f"{space}_{kind}_{width}", (f"-DUNITS={UNITS}",)) for width in WIDTHS
    }
    # at a multiple of 2 MiB, since which tags are looked up at once depends on the address
    data, out = gpu.empty(2**20, np.uint32), gpu.empty(2**20, np.uint32)
    gpu.fill_bytes(data, 0)
    for pattern in cases():
        lanes, active, host, _ = arguments(pattern)
        kernels[pattern.width](1, LANES, (lanes, active, data[: host.size], out), "gpu")


def measure(space: str, kind: str) -> dict[Pattern, list[int]]:
    """Run the cases under ncu; what it counts of METRICS. Raises what profiling.run_ncu does."""
    gpu.require()
    metrics = [name.format(KINDS[kind]) for name in METRICS[space]]
    rows = profiling.run_ncu(
        ["-m", "benchmarks.patterns", "--launch", space, kind], f"{space}_{kind}", metrics
    )
    expected = list(cases())
    if [row["name"] for row in rows] != [f"{space}_{kind}_{p.width}" for p in expected]:
        raise profiling.ProfileError(
            f"{len(expected)} launches, but ncu counted {len(rows)}, or others"
        )
    return {pattern: [row[m] for m in metrics] for pattern, row in zip(expected, rows)}


def to_json(counts: dict[str, dict[Pattern, list[int]]], provenance: dict[str, Any]) -> str:
    """A line for each pattern, with what was counted for each of "shared load" and so on."""
    found = dict.fromkeys(pattern for each in counts.values() for pattern in each)
    lines = [
        json.dumps(
            {
                **pattern._asdict(),
                "counts": {what: each[pattern] for what, each in counts.items() if pattern in each},
            }
        )
        for pattern in found
    ]
    head = {
        "provenance": provenance,
        "metrics": {
            what: [name.format(KINDS[what.split()[1]]) for name in METRICS[what.split()[0]]]
            for what in counts
        },
    }
    return json.dumps(head, indent=1)[:-2] + ',\n "patterns": [\n' + ",\n".join(lines) + "\n]}\n"


def main(arguments: list[str]) -> None:
    if arguments[0] == "--launch":
        launch(*arguments[1:])
        return
    counts = {}
    for space in METRICS:
        for kind in KINDS:
            counts[f"{space} {kind}"] = measure(space, kind)
            text = to_json(counts, provenance(**profiling.tool()))
            write(Path(arguments[0]), text)


if __name__ == "__main__":
    main(sys.argv[1:])
