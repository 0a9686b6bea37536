"""A kernel's source with what each line costs memory, from a trace."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..trace import Cost, Place, SharedCost, Trace
from .figure import PALETTE, boxed

BEST, MORE = PALETTE["blue"], PALETTE["vermilion"]
# At this size, a line of 100 characters fits into a figure with its number.
CODE = (
    "margin:0;padding:0;border:0;background:none;color:inherit;overflow:visible;"
    "font:11px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
_COST = (
    "display:flex;flex-wrap:wrap;align-items:center;column-gap:.8em;padding:.1em .6em;"
    "margin:.15em 0 .15em 3em;border-left:3px solid {};font-size:12px;line-height:1.4"
)


class _Row(NamedTuple):
    """A bar below a line: what it shows, and how many of it there are, and at best."""

    place: Place
    cost: Cost | SharedCost
    unit: str
    used: int
    best: int


@dataclass(frozen=True, repr=False)
class Listing:
    """Source lines with bars below those that access memory; notebooks show it as HTML.

    It is text: it can be selected, and it scrolls sideways where the page is narrow.
    """

    body: str
    alt: str
    caption: str

    def __repr__(self) -> str:
        return f"<Listing: {self.alt}>"

    def _repr_html_(self) -> str:
        return boxed(self.body, self.alt, self.caption)


def listing(source: Any, trace: Trace) -> Listing:
    """The source, and below each line that accesses memory a bar for each array it touches.

    source: a Step, a Kernel, or the text of the file that was traced; trace: its Trace. Shown are
    the function, or functions, that it saw. A bar is as long as the wavefronts of the data pipe
    that the line took, those that were needed at best told apart, all on one scale; of global
    memory the words name the sectors, too. Accesses whose wavefronts are not counted, such as
    atomics, show sectors, on a scale of their own. Raises ValueError if the trace has costs on
    no line of the source.
    """
    text = str(getattr(source, "source", source)).splitlines()
    file = getattr(getattr(source, "kernel", source), "filename", "").rpartition("/")[2]
    rows: dict[int, list[_Row]] = {}
    for place, cost in sorted(trace.costs.items()):
        # Others are lines of a header.
        if (not file or place.file in ("", file)) and 1 <= place.line <= len(text):
            rows.setdefault(place.line, []).append(_row(place, cost))
    if not rows:
        raise ValueError(
            "no memory access was traced on any line of this source: is it the one that was traced?"
        )
    low, high = _around(text, min(rows), max(rows))
    every = [row for own in rows.values() for row in own]
    longest: dict[str, int] = {}
    for row in every:
        longest[row.unit] = max(longest.get(row.unit, 1), row.used)
    body, code = [], []
    for number in range(low, high + 1):
        label = f'<span style="opacity:.7">{number:>{len(str(high))}}</span>'
        code.append(f"{label}  {html.escape(text[number - 1])}")
        if number in rows:
            body += [_pre(code), *(_bar(row, longest) for row in rows[number])]
            code = []
    body.append(_pre(code))
    worst = max(every, key=lambda row: (2 * row.used - row.best) / longest[row.unit])
    words = (
        f"Line {worst.place.line}, {worst.place.kind} of {worst.place.array}: {worst.used:,} "
        f"{worst.unit}s, {_each(worst.used, worst.cost.requests)} for each request of a warp, "
        f"{_each(worst.best, worst.cost.requests)} at best"
    )
    scales = "; sectors have one scale, wavefronts another" if len(longest) > 1 else ""
    parts = ", ".join(f"line {line}" for line in rows)
    alt = f"Source with what its memory accesses cost, at {parts}. {words}."
    return Listing(
        "".join(body),
        alt,
        f"{words}. Bars show what each line asks for in the whole run: blue at best, "
        f"vermilion more than that{scales}.",
    )


def _row(place: Place, cost: Cost | SharedCost) -> _Row:
    """What a bar shows of a cost."""
    if cost.wavefronts or isinstance(cost, SharedCost):
        return _Row(place, cost, "wavefront", cost.wavefronts, cost.ideal_wavefronts)
    return _Row(place, cost, "sector", cost.sectors, cost.ideal)


def _around(text: list[str], low: int, high: int) -> tuple[int, int]:
    """From the function header above a line to the brace below another."""
    words = r"(__global__|__device__|extern|template)\b"
    header = re.compile(rf"\S.*\b{words}|{words}")
    while low > 1 and not header.match(text[low - 1]):
        low -= 1
    while low > 1 and header.match(text[low - 2]):
        low -= 1
    while high < len(text) and not text[high - 1].startswith("}"):
        high += 1
    return low, high


def _pre(code: list[str]) -> str:
    """Lines of code."""
    return f'<pre style="{CODE}">' + "\n".join(code) + "</pre>" if code else ""


def _bar(row: _Row, longest: Mapping[str, int]) -> str:
    """A bar and its words; longest: by unit, the longest bar."""
    place, cost, unit, used, best = row
    bars = "".join(
        f'<span style="width:{100 * part / longest[unit]:.2f}%;background:{colour}"></span>'
        for part, colour in ((min(best, used), BEST), (max(used - best, 0), MORE))
    )
    sectors = ""
    if unit == "wavefront" and isinstance(cost, Cost):
        asked = _units(cost.sectors, cost.requests, "sector")
        sectors = f" ({asked}, {_each(cost.ideal, cost.requests)} at best)"
    return (
        f'<div style="{_COST.format(MORE if used > best else BEST)}">'
        f'<span style="flex:0 0 7em">{html.escape(f"{place.kind} {place.array}")}</span>'
        f'<span style="flex:0 0 9em;display:flex;height:.8em">{bars}</span>'
        f"<span>{_units(used, cost.requests, unit)} a request, "
        f"{_each(best, cost.requests)} at best; {used:,} in all{sectors}</span></div>"
    )


def _each(total: int, requests: int) -> str:
    """For a request."""
    return f"{total / requests:.3g}"


def _units(total: int, requests: int, unit: str) -> str:
    """For a request, with the unit."""
    return f"{_each(total, requests)} {unit}" + ("" if total == requests else "s")
