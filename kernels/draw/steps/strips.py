"""A schedule by hand: what each of several does over time, as strips."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from anywarp.draw import PALETTE, Figure, svg

COLOURS = [*PALETTE.values()]
ROW, BAR, TOP = 24, 18, 14
LETTER = 6.6  # pixels of a letter, about
EACH = 3  # words of a line of the legend
LEFT = 6  # between a strip and its name


def strips(
    rows: Mapping[str, Sequence[str]], caption: str, unit: str = "time", blank: str = "waits"
) -> Figure:
    """What each row does in each unit of time, a strip for each row.

    rows: by name a word for each unit, "" where it does what `blank` says. Words that follow one
    another and are the same are one piece, with the word in it where it has room; each word has a
    colour of its own. Raises ValueError for no rows or rows without a word.
    """
    words = list(dict.fromkeys(word for row in rows.values() for word in row if word))
    if not words:
        raise ValueError("strips needs rows, and words in them")
    if len(words) > len(COLOURS):
        raise ValueError(f"strips tells {len(COLOURS)} words apart, and there are {len(words)}")
    look = {w: {"fill": c, "fill_opacity": 0.6} for w, c in zip(words, COLOURS)}
    left = 2 * LEFT + LETTER * max(map(len, rows))
    units = max(map(len, rows.values()))
    wide = (svg.NARROW - left) / units
    parts, y = [], float(TOP)
    for name, row in rows.items():
        parts.append(svg.text(left - LEFT, y + 13, name, "end"))
        parts.append(svg.rect(left, y, wide * units, BAR, **svg.OUTLINE, stroke_opacity=0.25))
        start = 0
        for word, run in itertools.groupby(row):
            length = len(list(run))
            x, width = left + wide * start, wide * length
            if word:
                parts.append(svg.rect(x, y, width, BAR, stroke="currentColor", **look[word]))
            if word and LETTER * len(word) < width:
                parts.append(svg.text(x + width / 2, y + 13, word, "middle"))
            start += length
        y += ROW
    parts += [svg.text(left, y + 8, "0"), svg.text(svg.NARROW, y + 8, f"{units} {unit}", "end")]
    y += 30
    for n in range(0, len(words), EACH):
        parts.append(svg.legend(0, y, [(word, look[word]) for word in words[n : n + EACH]]))
        y += 18
    told = "; ".join(f"{name}: {_told(row, blank)}" for name, row in rows.items())
    return Figure(svg.narrow(y - 8, *parts), f"Strips over time. {told}.", caption)


def _told(row: Sequence[str], blank: str) -> str:
    """A row in words."""
    runs = ((word or blank, len(list(run))) for word, run in itertools.groupby(row))
    return ", ".join(f"{word} {length}" for word, length in runs)
