"""The two stages of L1: what a warp's accesses of global memory take in each, and how long.

    python -m benchmarks.l1 OUTPUT

Under Nsight Compute: wavefronts of tags and of data of loads that miss, of loads that hit and of
stores, by where the lanes go; cycles of a load where 32 warps hit; step 02 by the pitch of A, in
blocks as they are and of one warp; the ladder in cycles of an SM for each multiply-add of a warp;
and step 06 by its hits in L2.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anywarp import Kernel, gpu
from anywarp.analysis import LANES
from anywarp.trace.metrics import CYCLES_ACTIVE, FFMA, L2_HITS, PIPE, TAGS
from kernels.ladder.step import step
from kernels.measure import profiling
from kernels.measure.provenance import provenance
from kernels.records import write

SOURCE = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
Shape = tuple[int, int, int]
WIDTHS = (4, 8, 16)
LOADS, WARPS = 128, 32  # of `timed`
REACH = 1 << 26  # bytes
PITCHES = (
    *(1, 2, 3, 5, 8, 9, 12, 16, 17, 24, 31, 32, 33, 36, 40, 48, 63, 64, 65, 68, 72, 96, 100, 127),
    *(128, 129, 160, 192, 251, 255, 256, 257, 260, 264, 320, 384, 511, 512, 516, 640, 1000, 1023),
    *(1024, 1025, 1028, 1500, 2047, 2048, 2080, 3001, 4064, 4095, 4096, 4128, 6000, 8160, 8192),
)  # floats from one lane's place to the next one's
TILES = list(itertools.product((2, 4, 8, 16), (24, 33, 64, 132, 255, 1024, 4096)))  # rows, pitch
LADDER = [f"{n:02}" for n in (*range(2, 18), 19)]
LADDER_SHAPE = (2048, 2048, 512)
KS = sorted(random.Random(26).sample(range(513, 4096, 2), 10)) + sorted(
    random.Random(27).sample(range(512, 4096, 2), 10)
)  # of step 02, 256 x 256 x K: ten odd ones and ten even ones
SHAPES = ((2048,) * 3, (4096,) * 3, (4096, 2048, 4096), (2048, 4096, 4096), (4096, 4096, 2048))
OF_SHAPES = (FFMA, CYCLES_ACTIVE, PIPE, L2_HITS)
ISSUED = "smsp__inst_issued.sum"
KERNELS = ("none", "once", "twice", "store")  # under Nsight Compute
OF_STEPS = (TAGS.format("ld"), TAGS.format("st"), PIPE, ISSUED, FFMA, CYCLES_ACTIVE)


class Case(NamedTuple):
    """Where the lanes go: `units[lane] * width` is a byte address."""

    name: str
    width: int
    units: tuple[int, ...]


def cases() -> Iterator[Case]:
    """Rows at a distance, tiles read by rows and by columns, and anywhere; all widths."""
    lanes = range(LANES)
    numbers = random.Random(1)
    for width in WIDTHS:
        each = width // 4
        for pitch in PITCHES:
            if pitch % each == 0:
                yield Case(f"pitch {pitch}", width, tuple(n * pitch // each for n in lanes))
        for rows, pitch in TILES:
            across = [n // (LANES // rows) * pitch + n % (LANES // rows) for n in lanes]
            down = [n % rows * pitch + n // rows for n in lanes]
            yield Case(f"{rows} rows, {pitch}", width, tuple(across))
            yield Case(f"{rows} rows, {pitch}, down", width, tuple(down))
        for bits, again in itertools.product(range(5, REACH.bit_length() - 3), range(3)):
            if width << bits > REACH:
                continue
            units = tuple(int(numbers.random() * (1 << bits)) for _ in lanes)
            yield Case(f"random {bits} {again}", width, units)


def memory() -> tuple[Any, Any]:
    """Zeros from a multiple of their size on, since the bank of a tag depends on the address; and
    room for cycles."""
    data = gpu.empty(2 * REACH // 4, np.uint32)
    gpu.fill_bytes(data, 0)
    before = -gpu.address(data) % REACH // 4
    return data[before : before + REACH // 4], gpu.empty(WARPS * LANES, np.int64)


def run(kind: str) -> Iterator[tuple[Case, Any]]:
    """Every case, once it has run on a warp, or if it is timed on 32; and what it wrote."""
    names = [f"{kind}_{width}" for width in WIDTHS]
    one_of = {
        name: Kernel(SOURCE, name, (f"-DLOADS={LOADS}",), filename="l1.cu", names=names)
        for name in names
    }
    data, out = memory()
    table = gpu.to_device(np.array([case.units for case in cases()], np.uint32))
    for case, units in zip(cases(), table):
        kernel = one_of[f"{kind}_{case.width}"]
        kernel(1, LANES * (WARPS if kind == "timed" else 1), (units, data, out), "gpu")
        yield case, out


def run_steps(labels: Iterable[tuple[str, Shape]]) -> None:
    """Each once, its A and B from a multiple of their room on."""
    data, _ = memory()
    for label, (M, N, K) in labels:
        A, B = (data[: m * n].view(np.float32).reshape(m, n) for m, n in ((M, K), (K, N)))
        step(label)(A, B, device="gpu")


def steps() -> Iterator[tuple[str, Shape]]:
    """Step 02 by pitch, and the ladder."""
    yield from (("02", (256, 256, K)) for K in KS)
    yield from ((label, LADDER_SHAPE) for label in LADDER)


def measure() -> dict[str, Any]:
    """All of it; differences of launches are of one load, or store. Raises as `run_ncu`."""
    gpu.require()
    counts = {}
    for kind in KERNELS:
        metrics = [TAGS.format("st" if kind == "store" else "ld"), PIPE]
        rows = profiling.run_ncu(["-m", "benchmarks.l1", "--launch", kind], f"{kind}_", metrics)
        counts[kind] = np.array([[row[m] for m in metrics] for row in rows], int)
    cycles = [float(np.median(gpu.to_host(out))) / (LOADS * WARPS) for _, out in run("timed")]
    loads = {"miss": counts["once"] - counts["none"], "hit": counts["twice"] - counts["once"]}
    stores = {"store": counts["store"] - [0, counts["none"][0, 1]]}
    patterns = [
        {"name": case.name, "width": case.width, "cycles": round(cycles[n], 3)}
        | {what: each[n].tolist() for what, each in (loads | stores).items()}
        for n, case in enumerate(cases())
    ]
    return {
        "provenance": provenance(**profiling.tool()),
        "patterns": patterns,
        **{name: counted(name, *each) for name, each in LAUNCHES.items()},
    }


def counted(
    name: str, labels: Callable[[], Iterable[tuple[str, Shape]]], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """What Nsight Compute counts of launches of steps."""
    rows = profiling.run_ncu(["-m", "benchmarks.l1", "--launch", name], "sgemm", metrics)
    return [
        {"step": label, "shape": shape, **{m: row[m] for m in metrics}}
        for (label, shape), row in zip(labels(), rows, strict=True)
    ]


LAUNCHES = {
    "steps": (steps, OF_STEPS),
    "shapes": (lambda: [("06", shape) for shape in SHAPES], OF_SHAPES),
    "lone": (lambda: [("02 BM=32 BN=1", (2048, 1, K)) for K in KS], OF_STEPS),
}


def main(arguments: list[str]) -> None:
    if arguments[0] == "--launch":
        labels, _ = LAUNCHES.get(arguments[1], (None, ()))
        run_steps(labels()) if labels else list(run(arguments[1]))
        return
    record = measure()
    lines = {key: ",\n".join(map(json.dumps, record[key])) for key in ("patterns", *LAUNCHES)}
    head = json.dumps({"provenance": record["provenance"]}, indent=1)[:-2]
    write(
        Path(arguments[0]), head + "".join(f',\n"{k}": [\n{v}]' for k, v in lines.items()) + "\n}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
