"""Which tile each block of a launch computes, and which steps along K: the work of the SMs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anywarp.draw import PALETTE, Figure, lanes, svg

LEFT, WIDE, PITCH, BAR = 42, 300, 15, 12
COLOURS = tuple(PALETTE.values())


class Piece(NamedTuple):
    """Steps of one tile that a block does: first, and the one behind the last."""

    tile: tuple[int, int]  # row and column of tiles
    first: int
    end: int


def stretches(variants: Sequence[Any], M: int, N: int, K: int, sms: int = 8) -> Figure:
    """What each SM of a small GPU does in a product, for each of the variants of a step.

    A step along K multiplies BK columns of A with BK rows of B. Tiles and steps are read off the
    addresses that each block loads from; that each step takes as long as any other, and that a
    block goes to the SM that is free first, is taken for granted.
    """
    works = [work(step, M, N, K) for step in variants]
    line = (piece.tile for blocks in works for block in blocks for piece in block)
    tiles = list(dict.fromkeys(line))  # in the order in which blocks take them
    placed = [schedule(blocks, sms) for blocks in works]
    longest = max(end for bars in placed for *_, end in bars)
    unit, parts, top, words = WIDE / longest, [], 0.0, []
    for step, blocks, bars in zip(variants, works, placed):
        length = max(end for *_, end in bars)
        used = sum(piece.end - piece.first for _, piece, *_ in bars) / (length * sms)
        title = f"{_name(step)}: {len(blocks)} blocks, {length} steps"
        parts.append(svg.text(0, top + 12, title, font_weight="bold"))
        for sm in range(sms):
            y = top + 20 + PITCH * sm
            parts.append(svg.text(LEFT - 6, y + 10, f"SM {sm}", "end", font_size=10))
        for sm, piece, start, end in bars:
            number = tiles.index(piece.tile)
            x, y = LEFT + unit * start, top + 20 + PITCH * sm
            colour = COLOURS[number % len(COLOURS)]
            wide = unit * (end - start)
            parts.append(svg.rect(x, y, wide - 1, BAR, fill=colour))
            if wide > 14:
                on: dict[str, Any] = {"fill": "#fff", "data_ground": colour, "font_size": 10}
                parts.append(svg.text(x + wide / 2, y + 10, number, **on, text_anchor="middle"))
        top += 20 + PITCH * sms + 12
        words.append(f"{_name(step)}: {length} steps, {used:.0%} of the SMs' time used")
    said = "; ".join(words)
    return Figure(
        svg.narrow(top, *parts),
        f"Work of {sms} SMs in a product of {M} x {N} x {K}, {len(tiles)} tiles. {said}.",
        f"A product of {M} x {N} x {K} on {sms} SMs. A bar is a piece of a tile, with the tile's "
        f"number on the line; its length is the steps along K. {said}.",
    )


def work(step: Any, M: int, N: int, K: int) -> list[list[Piece]]:
    """The pieces of each block, in the order in which it does them."""
    (launch,) = (made for made in step.launches(M, N, K) if made.kernel == "sgemm")
    blocks = [(*at[::-1],) for at in np.ndindex((*launch.grid, 1, 1)[2::-1])]
    trace = step.trace(M, N, K, keep=blocks)
    loads = [a for a in trace.accesses if (a.space, a.kind) == ("global", "load")]
    rows, columns, depth = (step.defines[name] for name in ("BM", "BN", "BK"))
    pieces = []
    for block in blocks:
        A, B = ([a for a in loads if (a.block, a.array) == (block, name)] for name in "AB")
        places = zip(
            _runs(A, K, depth, rows, along_rows=True),
            _runs(B, N, depth, columns, along_rows=False),
            strict=True,
        )
        pieces.append([Piece((row, column), *steps) for (row, steps), (column, _) in places])
    return pieces


def schedule(blocks: Sequence[Sequence[Piece]], sms: int) -> list[tuple[int, Piece, int, int]]:
    """(SM, piece, when it starts, when it ends), each block on the SM that is free first."""
    free = [(0, sm) for sm in range(sms)]
    placed = []
    for block in blocks:
        now, sm = heapq.heappop(free)
        for piece in block:
            end = now + piece.end - piece.first
            placed.append((sm, piece, now, end))
            now = end
        heapq.heappush(free, (now, sm))
    return placed


def _runs(
    accesses: Sequence[Any], pitch: int, depth: int, side: int, along_rows: bool
) -> list[tuple[int, tuple[int, int]]]:
    """(tile along this side, (first step, end)) of loads from A or B: k rises within a run."""
    runs: list[tuple[int, list[int]]] = []
    for access in accesses:
        element, _ = lanes.touched([access])
        if not element.size:
            continue
        row, column = np.divmod(element, pitch)
        k, x = (column, row) if along_rows else (row, column)
        step, tile = int(k.min()) // depth, int(x.min()) // side
        if not runs or step < runs[-1][1][-1] or tile != runs[-1][0]:
            runs.append((tile, []))
        runs[-1][1].append(step)
    return [(tile, (steps[0], steps[-1] + 1)) for tile, steps in runs]


def _name(step: Any) -> str:
    """What a variant changes of how K is shared out: "SPLITS=2"."""
    changed = [f"{name}={step.defines[name]}" for name in ("SPLITS", "STREAM")
               if step.defines[name] != step.file.defines[name]]  # fmt: skip
    return " ".join(changed) or "a block for each tile"
