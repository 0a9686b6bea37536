"""What a search of tiles has found: every candidate, by the size of its tile."""

from __future__ import annotations

import math

from anywarp.draw import PALETTE, Figure, svg

from ...ladder.step import step as step_of
from ...records import CUBLAS, Results
from .plots import origin_of, sentence

LEFT, TOP, HIGH = 40, 40, 190
WIDE = svg.NARROW - LEFT - 6
DOT = 3.0  # pixels of a point
LOOKS = [{"fill": colour, "fill_opacity": 0.6} for colour in PALETTE.values()]


def search(results: Results, size: int = 4096) -> Figure:
    """Every candidate of a search at M = N = K = size: its share of cuBLAS against the elements of
    its tile, BM x BN, in the colour of the elements of a thread, TM x TN. The fastest has a ring.

    Raises ValueError if nothing was measured at that size, or not beside cuBLAS, and for more sizes
    of a thread's tile than there are colours.
    """
    best = results.best(size)
    share = results.share_of_cublas(best)
    if share is None:
        raise ValueError(f"cuBLAS was not timed beside {best.name}")
    candidates = []  # elements of a thread and of a tile, and the share
    for r in results.records:
        own = results.share_of_cublas(r)
        if (r.M, r.N, r.K) == (size,) * 3 and r.step != CUBLAS and own is not None:
            candidates.append((*_elements(r.step), own))
    threads = sorted({thread for thread, *_ in candidates})
    tiles = sorted({tile for _, tile, _ in candidates})
    if len(threads) > len(LOOKS):
        raise ValueError(f"{len(threads)} sizes of a thread's tile, and only {len(LOOKS)} colours")
    top = math.ceil(max(own for *_, own in candidates) * 5) / 5
    pitch = WIDE / len(tiles)

    def place(thread: int, tile: int, share: float) -> tuple[float, float]:
        lane = (threads.index(thread) + 0.5) / len(threads)
        across = LEFT + pitch * (tiles.index(tile) + 0.1 + 0.8 * lane)
        return across, TOP + HIGH * (1 - share / top)

    parts = _axes(top, tiles, pitch)
    most = []  # of each size of a thread's tile
    for thread, look in zip(threads, LOOKS):
        alike = [c for c in candidates if c[0] == thread]
        order = [tile for _, tile, _ in alike]
        alike.sort(key=lambda c: order.index(c[1]))
        dots = ((x - DOT / 2, y - DOT / 2, DOT, DOT) for x, y in (place(*c) for c in alike))
        parts.append(svg.path(svg.boxes(dots), **look))
        highest = max(share for *_, share in alike)
        most.append(f"{thread} elements of a thread, at most {highest:.1%}")
    x, y = place(*_elements(best.step), share)
    bottom = TOP + HIGH
    parts += [
        svg.tag("circle", cx=x, cy=y, r=6.0, **svg.OUTLINE, stroke_width=1.5),
        svg.text(0, 12, f"M = N = K = {size}: share of cuBLAS", font_weight="bold"),
        svg.text(LEFT, bottom + 32, "elements of a block's tile, BM x BN"),
        svg.text(0, bottom + 56, "TM x TN of a thread:"),
        svg.legend(132, bottom + 56, zip(map(str, threads), LOOKS)),
    ]
    words = "; ".join(most)
    count, origin = f"{len(candidates)} candidates", origin_of(results)
    return Figure(
        svg.narrow(bottom + 64, *parts),
        f"A search of {count} at M = N = K = {size}, {origin}: share of cuBLAS against elements of "
        f"a block's tile. {words}. Best: {best.step}, {share:.1%}.",
        f"{count}, each a point. The ring is the best, {share:.1%} of cuBLAS: {best.step}. "
        f"{sentence(origin)}",
    )


def _elements(label: str) -> tuple[int, int]:
    """Of a thread and of a block's tile."""
    defines = step_of(label).defines
    return defines["TM"] * defines["TN"], defines["BM"] * defines["BN"]


def _axes(top: float, tiles: list[int], pitch: float) -> list[str]:
    """Lines at every fifth of cuBLAS, a strong one at cuBLAS itself, and the tiles below."""
    parts = []
    for n in range(round(top * 5) + 1):
        y = TOP + HIGH * (1 - n / 5 / top)
        look = {"stroke": "currentColor", "stroke_opacity": 1 if n == 5 else 0.15}
        parts.append(svg.tag("path", d=f"M{LEFT} {svg.short(y)}h{WIDE}", **look))
        parts.append(svg.text(LEFT - 5, y + 4, f"{n / 5:.0%}", text_anchor="end", font_size=11))
    for n, tile in enumerate(tiles):
        x = LEFT + pitch * (n + 0.5)
        parts.append(svg.text(x, TOP + HIGH + 15, str(tile), text_anchor="middle", font_size=11))
    return parts
