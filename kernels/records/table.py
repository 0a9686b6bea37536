"""Rows of words as lines of text: the one printer of tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest


def table(rows: Sequence[Sequence[object]], align: str, least: Sequence[int] = ()) -> str:
    """The cells of the rows in columns, two spaces apart.

    `align` has < or > for each column, `least` the least width of the first ones. Lines of the last
    cell after its first are indented as that is.
    """
    text = [[str(cell) for cell in row] for row in rows]
    longest = (max(map(len, column)) for column in zip(*text))
    widths = [max(pair) for pair in zip_longest(longest, least, fillvalue=0)]
    margin = "\n" + " " * sum(width + 2 for width in widths[:-1])
    lines = []
    for row in text:
        cells = (f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths))
        lines.append("  ".join(cells).rstrip().replace("\n", margin))
    return "\n".join(lines)
