"""Pictures whose every number counts: a picture that is not what it was has to be looked at.

tests/data/pictures.json has the SHA-256 of each; `python -m tests.draw.test_unchanged` writes it
again, after the pictures were looked at. Those of Matplotlib depend on its version: test_plots.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # as conftest.py does, for the command line
from drawn import LANE, access, trace

from kernels.draw import banks, coalescing, listing, occupancy, thread_mapping
from kernels.instruments.arrays import Shape
from kernels.instruments.counting import Cost, Place, SharedCost

RECORDED = Path(__file__).parents[1] / "data" / "pictures.json"


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
    return types.SimpleNamespace(
        compute_capability="9.0", blocks=blocks, warps=8 * blocks, max_warps=64,
        fraction=blocks / 8, limit=limit, blocks_by=by,
    )  # fmt: skip


PICTURES = {
    "mapping 4 x 4": lambda: thread_mapping(tiles(4), thread=37),
    "mapping 8 x 8": lambda: thread_mapping(tiles(8)),
    "mapping of rows": lambda: thread_mapping(line(16)),
    "mapping of columns": lambda: thread_mapping(downwards(), thread=64),
    "mapping of one warp": lambda: thread_mapping(line(1), thread=3),
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
    "listing": lambda: listing(SOURCE, costs()),
    "listing, lines": lambda: listing(SOURCE, costs(), (7, 7)),
}


def content(name: str) -> str:
    """Drawings and words, without the page around them."""
    picture = PICTURES[name]()
    parts = (getattr(picture, field.name) for field in dataclasses.fields(picture))
    return "\n".join("\n".join(part) if isinstance(part, tuple) else part for part in parts)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_it_was(name, tmp_path):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    now = content(name)
    (tmp_path / "now.txt").write_text(now, encoding="utf-8")
    assert recorded[name] == digest(now), (
        f"look at the picture, or at {tmp_path / 'now.txt'}; if it is as it should be, "
        "python -m tests.draw.test_unchanged writes the new sums"
    )


def test_no_picture_is_recorded_that_is_not_drawn():
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))) == set(PICTURES)


if __name__ == "__main__":
    sums = {name: digest(content(name)) for name in PICTURES}
    RECORDED.write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")
