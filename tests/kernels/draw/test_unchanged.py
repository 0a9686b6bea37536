"""Pictures whose every number counts: a picture that is not what it was has to be looked at.

tests/data/pictures.json has the SHA-256 of each; `python -m tests.kernels.draw.test_unchanged`
writes it again, after the pictures were looked at. The SVG of a chart depends on the version of
Matplotlib: its sum is of what Matplotlib is told.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import sys
import types
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # as conftest.py does, for the command line
from drawn import LANE, access, legible, made_pipeline, rounds, timed, trace

from anywarp.analysis.occupancy import Occupancy
from anywarp.draw import banks, coalescing, listing, thread_mapping
from anywarp.sass.encoding import Control, with_control
from anywarp.trace.arrays import Shape
from anywarp.trace.counting import Cost, Place, SharedCost
from kernels import draw, parallel, step
from kernels.analysis import Descriptor
from kernels.draw import chains, gflops, hiding, latency, occupancy, roofline, scaling

RECORDED = Path(__file__).parents[2] / "data" / "pictures.json"


def tiles(T):
    """Stores of a 64 x 64 tile of C, T x T elements for each thread, four at a time."""
    made = []
    across = 64 // T
    for warp in range(across * across // 32):
        row, column = np.divmod(32 * warp + LANE, across)
        for i in range(T):
            for j in range(0, T, 4):
                at = 4 * ((T * row + i + 64) * 256 + T * column + j + 128)
                made.append(access(at, 16, "C", "store", warp, "global", start=4096))
    return trace(*made, C=(256, 256))


def column():
    steps = [access(4 * (33 * LANE + k)) for k in range(4)]
    wide = [access(16 * (LANE // 2), 16), access(8 * 17 * LANE % 512, 8, active=LANE % 3 < 2)]
    return trace(*steps, *wide, tile=(32, 33))


def rows():
    down = [access(256 * LANE + 4 * k, array="A", space="global") for k in range(10)]
    across = [access(4 * LANE + 1024 * k, array="B", space="global") for k in range(3)]
    mixed = [access(64 * (LANE // 4) + 16 * (LANE % 2), 16, "A", "store", space="global")]
    far = [access(128 * (2 * LANE + 64 * k), array="D", space="global") for k in range(2)]
    return trace(*down, *across, *mixed, *far, A=(64, 64), B=(8, 256), D=(512, 32))


def line(warps):
    made = [
        access(4 * (32 * warp + LANE), 4, "C", "store", warp, "global", line=9)
        for warp in range(warps)
    ]
    return trace(*made, C=(16, 32))


def downwards():
    made = [access(4 * (8 * LANE + warp), 4, "C", "store", warp, "global") for warp in range(6)]
    return trace(*made, C=(32, 8))


SOURCE = """#define N 4

extern "C" __global__ void
f(const float* A, float* C)
{
    __shared__ float tile[N];
    tile[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] = tile[N - 1] < 2;
}
"""


def costs():
    found = {
        Place(7, "load", "A"): Cost(10, 20, 80, 40),
        Place(7, "store", "tile"): SharedCost(10, 30, 20, 10),
        Place(8, "load", "tile"): SharedCost(10, 10, 0, 10),
        Place(8, "store", "C"): Cost(10, 10, 40, 40),
    }
    return types.SimpleNamespace(costs=found)


def resident(blocks, limit, by):
    return Occupancy("9.0", blocks, 8 * blocks, 64, limit, by, {})


# ---------------------------------------------------------------------- charts


class Told(NamedTuple):
    """What Matplotlib is told of a chart, and its words."""

    axes: str
    alt: str
    caption: str


def told(function, *arguments, **options) -> Told:
    home = importlib.import_module(function.__module__)
    with pytest.MonkeyPatch.context() as patch:
        told_of = lambda fig, alt, caption: Told(described(fig), alt, caption)
        patch.setattr(home, "from_matplotlib", told_of)
        return function(*arguments, **options)


def described(fig) -> str:
    """Everything on the axes with its place and style, numbers to five digits."""
    import matplotlib.pyplot as plt

    plt.close(fig)
    return "\n".join(plain(part) for ax in fig.axes for part in _parts(fig, ax))


def _parts(fig, ax) -> list:
    low, high = ax.get_ylim()
    ticks = [y for y in ax.yaxis.get_majorticklocs() if low <= y <= high]
    return [
        tuple(fig.get_size_inches()), ax.get_title("left"), ax.get_xlabel(), ax.get_ylabel(),
        ax.get_xscale(), ax.get_xlim(), ax.get_yscale(), (low, high), ticks,
        ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()],
        [t.get_text() for t in ax.get_yticklabels()] if ax.yaxis_inverted() else "",
        *((line.get_xydata(), line.get_color(), line.get_linestyle(), line.get_linewidth(),
           line.get_marker(), line.get_markersize(), line.get_fillstyle(), line.get_clip_on())
          for line in ax.lines),
        *((band.get_paths()[0].vertices, band.get_facecolor(), band.get_linewidth())
          for band in ax.collections),
        *((bar.get_bbox().get_points(), bar.get_facecolor()) for bar in ax.patches),
        *((text.get_text(), text.xy, text.xyann, text.get_color(), text.get_ha(), text.get_va(),
           text.get_annotation_clip()) for text in ax.texts),
        [(line.get_color(), line.get_alpha(), line.get_linewidth(), line.get_visible())
         for line in ax.get_ygridlines()[:1]],
    ]  # fmt: skip


def plain(value) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{' '.join(map(plain, value))}]"
    return str(value)


SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
SLOW = {n: 0.01 * n**0.5 for n in SIZES}
FAST = {n: 50 * n / (n + 300) for n in SIZES}
RATES = {
    "cublas": {n: 51 * n / (n + 200) for n in (*SIZES, 96)},
    "02_slow": SLOW,
    "03_fast": FAST,
    "03_fast PAD=1": {n: 0.98 * rate for n, rate in FAST.items() if n < 4096},
    "04_odd": {4095: 40.0, 4096: 45.0, 4000: 30.0, 100: 5.0},
}
POINTS = [("a", 0.06, 0.2), ("b", 8.0, 20.0), ("c", 9.0, 21.0), ("far", 2000.0, None)]

FAST_HERE = {n: rate / 3 for n, rate in FAST.items()}
LIVE = timed({"cublas": FAST_HERE, "03_fast": FAST_HERE}, "GPU 2", 20.0, False, copy=300.0)
GPU = {"provenance": {"gpu": "GPU 1", "date": "2001-02-03", "multiprocessors": 10}}
ERRORS = GPU | {
    "side": 64,
    "chained depth": 32,
    "errors": {
        kind: {str(K): {"cublas": K / 9, "02_slow": K / 8, "03_fast": K / 7} for K in (8, 16, 32)}
        for kind in ("random", "positive")
    },
    "chains": {kind: {"8": 1.5, "32": 6.0} for kind in ("random", "positive")},
}
WAITS = GPU | {
    "latency": {
        "multiply-add": 3.2,
        "shared memory": 17.4,
        "by size": [{"bytes": 2**n, "cycles": 10.0 * n} for n in (9, 14, 19, 24, 31)],
    },
    **{
        name: [
            {"warps": w, "chains": c, "steps": 1000, "ms": 0.5, "cycles": 1}
            for c in (1, 2)
            for w in (1, 2, 4)
        ]
        for name in ("loads", "multiply-adds")
    },
}

PICTURES = {
    "mapping 4 x 4": lambda: thread_mapping(tiles(4), thread=37),
    "mapping 8 x 8": lambda: thread_mapping(tiles(8)),
    "mapping of rows": lambda: thread_mapping(line(16)),
    "mapping of columns": lambda: thread_mapping(downwards(), thread=64),
    "mapping of one warp": lambda: thread_mapping(line(1), thread=3),
    "mapping of two rows": lambda: thread_mapping(
        trace(
            *[
                access(4 * (48 * (LANE // 16) + 16 * w + LANE % 16), 4, "C", "store", w, "global")
                for w in range(3)
            ],
            C=(2, 48),
        )
    ),
    "mapping of several": lambda: thread_mapping(
        trace(
            *[access(4 * (LANE // 2 + 8 * w), 4, "C", "load", w, "global") for w in range(2)],
            C=(8, 8),
        ),
        "C",
        "load",
    ),
    "mapping of doubles": lambda: thread_mapping(
        trace(access(8 * LANE, 8, "x"), x=Shape((4, 8), 8)), "x", "load"
    ),
    "mapping of components": lambda: thread_mapping(
        trace(access(16 * LANE + 4, 4, "x"), x=Shape((4, 8), 16, 4)), "x", "load"
    ),
    "mapping of much": lambda: thread_mapping(
        trace(*[access(128 * LANE + 4096 * w, 16, "x", warp=w) for w in range(8)], x=(256, 1024)),
        "x",
        "load",
    ),
    "banks, steps": lambda: banks(column(), "tile"),
    "banks, wide": lambda: banks(column(), "tile", index=4),
    "banks, halves": lambda: banks(column(), "tile", index=5),
    "banks, conflicts": lambda: banks(trace(access(128 * (LANE // 2)), tile=(32, 32)), "tile"),
    "coalescing, steps": lambda: coalescing(rows(), "A"),
    "coalescing, one": lambda: coalescing(rows(), "A", index=3),
    "coalescing, rows": lambda: coalescing(rows(), "B", index=range(1, 3)),
    "coalescing, vectors": lambda: coalescing(rows(), "A", "store"),
    "coalescing, far": lambda: coalescing(rows(), "D"),
    "coalescing, bytes": lambda: coalescing(
        trace(access(3 * LANE, 1, "x", space="global"), x=Shape((4, 64), 1)), "x"
    ),
    "occupancy": lambda: occupancy(
        resident(2, "registers", {"threads": 8, "blocks": 32, "registers": 2})
    ),
    "occupancy, nothing": lambda: occupancy(
        resident(0, "shared memory", {"blocks": 40, "shared memory": 0})
    ),
    "gflops": lambda: told(gflops, timed(RATES), list(RATES)[1:]),
    "gflops, near": lambda: told(gflops, timed(RATES), ["03_fast", "03_fast PAD=1"]),
    "gflops, live": lambda: told(
        gflops, timed(RATES), ["03_fast"], timed({"03_fast": {64: 3.0}}, "GPU 2", 20.0, False)
    ),
    "gflops, low": lambda: told(gflops, timed({"02_slow": {8: 0.001, 16: 0.3}}), ["02_slow"]),
    "roofline": lambda: told(roofline, timed(RATES), POINTS),
    "roofline, live": lambda: told(
        roofline, timed(RATES), [*POINTS[:2], ("far", 2000.0, None, "03_fast")], LIVE
    ),
    "chains": lambda: told(chains, ERRORS, "03_fast"),
    "latency": lambda: told(latency, WAITS),
    "hiding": lambda: told(hiding, WAITS),
    "scaling": lambda: told(scaling, {"a": [(1, 1.0), (4, 0.4)], "b": [(1, 1.0)]}, [("a", 2, 0.9)]),
    "listing": lambda: listing(SOURCE, costs()),
}


FREE = Control(1, 1, 7, 7, 0, 0)
LOOP = [  # loads, what stores the value of the second, a barrier, loads whose values are used
    with_control(word, FREE._replace(**told))
    for word, told in (
        *[(0x981, {"write": 0}), (0x918, {})] * 2,
        (0x388, {"wait": 1}),
        (0xB1D, {"stall": 6}),
        *[(0x984, {"write": 1}), (0x223, {"wait": 2}), *[(0x223, {})] * 39] * 3,
    )
]


def laddered(number):
    """A ladder whose rates do not change with the records."""
    with pytest.MonkeyPatch.context() as patch:
        home = importlib.import_module("kernels.draw.records.ladder")
        patch.setattr(home, "recorded", lambda gpu: LADDER)
        return draw.ladder(number, 512)


def scheduled(*steps, **options):
    """A timeline of a loop that does not depend on the version of the compiler."""
    home = importlib.import_module("kernels.draw.steps.timeline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "tile_words", lambda step, fmas: LOOP)
        patch.setattr(home, "recorded", lambda gpu: timed(RATES))
        return draw.timeline(*steps, **options)


MMA = "mma.sync.aligned"
LONG = "pipeline, no mbarriers"  # its names of warps are
SPANS = [
    *((rank, "multiply", n, n / 4, (n + 1 - rank / 9) / 4) for rank in (0, 1) for n in range(3)),
    (1, "transfer", 1, 0.1, 0.3),
]
STEPS = {"02_naive": 0.5, "03_coalesced": 6.0, "04_index_arithmetic": 6.5, "05_shared_tiling": 2.0}
LADDER = timed({name: {512: rate} for name, rate in (STEPS | {"cublas": 50.0}).items()})
PICTURES |= {
    "ladder": lambda: laddered(5),
    "ladder, first": lambda: laddered(2),
    "tiles": lambda: draw.tiles(step(5), 64, 96, 64),
    "tiles, a warp": lambda: draw.tiles(step(2), 64, 32, 4, 3),
    "tiles, edges": lambda: draw.tiles(step(15), 200, 130, 11),
    "nesting": lambda: draw.nesting(step(12)),
    "memory": draw.memory,
    "outer product": lambda: draw.outer_product(step(12), 37),
    "outer product, column": lambda: draw.outer_product(step(7)),
    "outer product, along k": lambda: draw.outer_product(step(9)),
    "waves": lambda: draw.waves(step(9), 1024, 1024),
    "waves, many": lambda: draw.waves(
        step(2), 1024, 512, dataclasses.replace(step(2).occupancy(), gpu="GPU 1", sms=40)
    ),
    "rasterisation": lambda: draw.rasterisation([step("17 GROUP=1"), step(17)], 4096, 4096, 8),
    "rounds": lambda: draw.rounds(parallel.ring(8, 8, 8, 4)),
    "rounds, shared": lambda: draw.rounds(parallel.summa(8, 8, 8, (2, 2), pieces=2)),
    "ranks": lambda: draw.ranks({"long": SPANS, "short": SPANS[:1]}),
    "timeline": lambda: scheduled(9, 13, blocks=(1, 2)),
    "swizzle": draw.swizzle,
    "swizzle, none": lambda: draw.swizzle(64, 0),
    "swizzle, short": lambda: draw.swizzle(32, 64),
    "fragment": lambda: draw.fragment(f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32"),
    "fragment, registers": lambda: draw.fragment(
        f"{MMA}.m16n8k32.row.col.s32.s8.s8.s32", "register"
    ),
    "core matrices": lambda: draw.core_matrices(Descriptor(1024, 2048, 128), 64),
    "fragment, wgmma": lambda: draw.fragment(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
    ),
    "pipeline": lambda: draw.pipeline(made_pipeline(*rounds(5))),
    "pipeline, no mbarriers": lambda: draw.pipeline(
        made_pipeline(("store", [0, 1], 0), ("barrier",), ("read", [0, 3], 0)), [[(0, 64)]]
    ),
    "timeline, variant": lambda: scheduled("12 QUADS=0", blocks=[1]),
}


def content(name: str) -> str:
    """Drawings and words, without the page around them."""
    picture = PICTURES[name]()
    parts = (
        picture
        if isinstance(picture, Told)
        else [getattr(picture, field.name) for field in dataclasses.fields(picture)]
    )
    return "\n".join("\n".join(part) if isinstance(part, tuple) else part for part in parts)


def for_a_phone(picture) -> list[str]:
    """The first and the last frame of a picture that is as wide as a phone."""
    frames = getattr(picture, "frames", (getattr(picture, "svg", ""),))
    return [frame for frame in {frames[0], frames[-1]} if 'viewBox="0 0 360 ' in frame]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_it_was(name, tmp_path):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    now = content(name)
    (tmp_path / "now.txt").write_text(now, encoding="utf-8")
    assert recorded[name] == digest(now), (
        f"look at the picture, or at {tmp_path / 'now.txt'}; if it is as it should be, "
        "python -m tests.kernels.draw.test_unchanged writes the new sums"
    )


@pytest.mark.parametrize("name", sorted({*PICTURES} - {LONG}))
def test_a_picture_for_a_phone_is_legible_there(name):
    for frame in for_a_phone(PICTURES[name]()):
        legible(frame)


def test_no_picture_is_recorded_that_is_not_drawn():
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))) == set(PICTURES)


if __name__ == "__main__":
    sums = {name: digest(content(name)) for name in PICTURES}
    RECORDED.write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")
