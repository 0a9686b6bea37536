"""Rows of words as lines of text or in HTML: the one printer of tables."""

from __future__ import annotations

import html
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


def html_table(
    title: str, rows: Sequence[Sequence[str]], styles: Sequence[str], below: Sequence[str] = ()
) -> str:
    """The same in HTML, below a title, if any: the first row is the head, `styles` are those of the
    columns, and `below` what their cells below the head have besides."""
    both = [f"{style};{more}" for style, more in zip(styles, below)] or styles
    head, *body = (
        "".join(_cell(cell, tag, style) for cell, style in zip(row, chosen))
        for row, tag, chosen in zip(
            rows, ["th"] + ["td"] * len(rows), [styles] + [both] * len(rows)
        )
    )
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str, tag: str, style: str) -> str:
    """A cell; one of the head that says nothing is no head."""
    tag = tag if text else "td"
    return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'
