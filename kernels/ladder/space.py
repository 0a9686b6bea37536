"""Spaces of tiles: which defines of a step `python -m kernels tune` tries, and what must hold of
them. What a step's `static_assert`s refuse, or no thread has the registers for, need not be said
here: `tune` leaves that out. Here is said what is not worth a try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .expressions import Expression
from .step import Step, step


class Space(NamedTuple):
    """The values of each define, and expressions on them that hold of what is tried."""

    values: Mapping[str, tuple[int, ...]]
    holds: tuple[str, ...]


TILES = {
    "TM": (4, 8, 16),
    "TN": (4, 8, 16),
    "WM": (16, 32, 64, 128),
    "WN": (16, 32, 64, 128),
    "BM": (32, 64, 128, 256),
    "BN": (32, 64, 128, 256),
    "BLOCKS": (1, 2, 4, 8),
}
SHAPES = (
    "WM * WN == 32 * TM * TN",  # a warp has 32 lanes
    "BM % WM == 0 and BN % WN == 0",
    # long tiles read more for the same products
    "TM <= 2 * TN and TN <= 2 * TM and TM * TN < 256",
    "TM <= TN or TM * TN >= 64",
    "WM <= 4 * WN and WN <= 4 * WM",
    "BM <= 4 * BN and BN <= 4 * BM",
    "BM * BN // (TM * TN) >= 64 and BM * BN // (TM * TN) <= 256",  # threads of a block
    # 512 threads of an SM can have 128 registers each, and 256 can have 255
    "BLOCKS * BM * BN // (TM * TN) == max(256, min(512, 32768 // (TM * TN)))",
)

SPACES = {
    "17_tile_space": Space(
        TILES | {"BK": (8, 16), "STAGES": (3, 4, 8), "GROUP": (1, 16), "LEVEL": (1, 3)},
        (
            *SHAPES,
            # one at a time is other than usual
            "(BK != 8) + (STAGES != 4) + (GROUP != 16) + (LEVEL != 1) <= 1",
        ),
    ),
}


def points(space: Space) -> list[dict[str, int]]:
    """All choices of values of which everything holds."""
    holds = [Expression(text, tuple(space.values)) for text in space.holds]
    result: list[dict[str, int]] = [{}]
    for name, values in space.values.items():
        result = [point | {name: value} for point in result for value in values]
        names = set(result[0]) if result else set()
        known = [condition for condition in holds if set(condition.names) <= names]
        holds = [condition for condition in holds if condition not in known]
        result = [point for point in result if all(condition(point) for condition in known)]
    return result


def candidates(name: str) -> tuple[Step, ...]:
    """The steps of the space of the step of this name, its defaults first. Raises ValueError where
    no space is declared."""
    usual = step(name)
    if usual.id not in SPACES:
        raise ValueError(f"{usual.id} declares no space to search; {', '.join(SPACES)} do")
    every = (usual.define(**point) for point in points(SPACES[usual.id]))
    return tuple({tile.label: tile for tile in (usual, *every)}.values())
