"""Where a tile's rows lie in the banks of shared memory: plainly, or under a swizzle."""

from __future__ import annotations

import numpy as np

from .. import analysis
from ..analysis.banks import BANK_BYTES, BANKS
from ..analysis.warps import LANES, Ints
from ..ptx.memory.swizzle import UNIT
from . import lanes, svg
from .figure import PALETTE
from .stepper import Stepper, stepper

LINE = BANKS * BANK_BYTES  # bytes that all banks hold beside one another
ACROSS = LINE // UNIT
LEFT, TOP, CELL, HIGH = 44, 52, 39, 21
MODES = (0, 32, 64, 128)
FINE, EXTRA = PALETTE["blue"], PALETTE["vermilion"]
STRONG = 0.5  # opacity, on which numbers can be read
ROWS = 8  # of a tile: as many as ldmatrix reads for one matrix


def swizzle(row_bytes: int = 128, mode: int = 128) -> Stepper:
    """The 16-byte units of a tile in shared memory, and the banks that one access wants at a time.

    row_bytes: of a row of the tile, a multiple of 16, at most 128. mode: 0 for rows one after
    another, 32, 64 or 128 for those under a swizzle of so many bytes. A frame is what ldmatrix
    reads for one matrix of 8 x 8 halves: 16 bytes from each of eight rows. Addresses are those of
    `analysis.swizzled`, in shared memory from 0 on, and wavefronts those of `analysis.wavefronts`.
    Raises ValueError for other arguments.
    """
    if row_bytes not in range(UNIT, LINE + 1, UNIT):
        raise ValueError(f"a row has 16 to {LINE} bytes, a multiple of 16, not {row_bytes}")
    if mode not in MODES or isinstance(mode, bool):
        raise ValueError(f"mode must be one of {', '.join(map(str, MODES))}, not {mode!r}")
    first = np.arange(0, row_bytes, UNIT)
    units = analysis.swizzled(row_bytes * np.arange(ROWS)[:, None] + first, mode)
    frames, labels, total = [], [], 0
    for byte, wanted in zip(first.tolist(), units.T):
        padded = np.pad(wanted, (0, LANES - ROWS))
        served = analysis.wavefront_of(padded, UNIT, np.arange(LANES) < ROWS)[:ROWS]
        count = int(served.max()) + 1
        total += count
        frames.append(_draw(units, wanted, served))
        labels.append(
            f"bytes {byte} to {byte + UNIT - 1} of rows 0 to {ROWS - 1}: "
            f"{lanes.count(count, 'wavefront')}, 1 at best"
        )
    laid_out = f"under the {mode}-byte swizzle" if mode else "without a swizzle"
    words = (
        f"A tile of {ROWS} rows of {row_bytes} bytes in shared memory, {laid_out}. A unit "
        "is 16 bytes, named by its row and its place in the row. Coloured is what ldmatrix or "
        "wgmma reads at a time, blue in the first wavefront, and below is how often each group of "
        f"four banks is wanted. All matrices together take {lanes.count(total, 'wavefront')}, "
        f"{len(frames)} at best."
    )
    return stepper(frames, labels, f"Swizzle, step by step. {words}", words, "matrices")


def _place(address: int) -> tuple[float, float]:
    """Of a byte in the drawing: a row of it is all banks."""
    line, byte = divmod(int(address), LINE)
    return LEFT + CELL * byte / UNIT, TOP + HIGH * line


def _draw(units: Ints, wanted: Ints, served: Ints) -> str:
    """One frame. What the access reads is drawn over the boxes, and their names over that."""
    lines = int(units.max()) // LINE + 1
    bottom = TOP + HIGH * lines
    boxes = svg.boxes((x, y, CELL, HIGH) for x, y in map(_place, units.ravel()))
    marks = [
        svg.rect(x, y, CELL, HIGH, fill=EXTRA if late else FINE, fill_opacity=STRONG)
        for (x, y), late in zip(map(_place, wanted), served)
    ]
    names = [
        (x + CELL / 2, y + 15, f"{row}, {n}")
        for row, line in enumerate(units)
        for n, (x, y) in enumerate(map(_place, line))
    ]
    middles = [LEFT + CELL * n + CELL / 2 for n in range(ACROSS)]
    heads = [(x, TOP - 8, f"{4 * n}–{4 * n + 3}") for n, x in enumerate(middles)]
    places = [(LEFT - 5, TOP + HIGH * n + 15, LINE * n) for n in range(lines)]
    times = np.bincount((wanted % LINE // UNIT).astype(np.intp), minlength=ACROSS)
    counts = [(x, bottom + 20, f"{n} x" if n else "") for x, n in zip(middles, times)]
    faint = {"fill": "currentColor", "fill_opacity": 0.04, "stroke": "currentColor"}
    first, later = ({"fill": colour, "fill_opacity": STRONG} for colour in (FINE, EXTRA))
    legend = [("first wavefront", first), ("later ones", later)]
    return svg.narrow(
        bottom + 54,
        svg.text(LEFT + CELL * ACROSS / 2, 16, "banks", "middle"),
        svg.text(2, TOP - 8, "byte"),
        svg.texts(heads, font_size=11, text_anchor="middle"),
        svg.texts(places, font_size=11, text_anchor="end"),
        svg.path(boxes, **faint, stroke_opacity=0.35),
        *marks,
        svg.texts(names, font_size=11, text_anchor="middle"),
        svg.texts(counts, text_anchor="middle", font_weight="bold"),
        svg.legend(LEFT, bottom + 46, legend),
    )
