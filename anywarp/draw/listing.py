"""A kernel's source with what each line costs memory, from a trace."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..trace import Cost, Place, SharedCost, Trace
from .figure import PALETTE, figure_html

BEST, MORE = PALETTE["blue"], PALETTE["vermilion"]
# At this size, a line of 100 characters fits into a figure with its number.
_CODE = (
    "margin:0;padding:0;border:0;background:none;color:inherit;overflow:visible;"
    "font:11px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
_COST = (
    "display:flex;flex-wrap:wrap;align-items:center;column-gap:.8em;padding:.1em .6em;"
    "margin:.15em 0 .15em 3em;border-left:3px solid {};font-size:12px;line-height:1.4"
)

# A place, the unit of its bar, how many, how many at best, and all that it cost.
_Row = tuple[Place, str, int, int, Cost | SharedCost]


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
        box = 'class="kernels-box" role="group" tabindex="0" style="overflow-x:auto"'
        alt = html.escape(self.alt, quote=True)
        return figure_html(f'<div {box} aria-label="{alt}">{self.body}</div>', self.caption)


def listing(source: Any, trace: Trace, lines: tuple[int, int] | None = None) -> Listing:
    """The source, and below each line that accesses memory a bar for each array it touches.

    source: a Step, a Kernel, or the text of the file that was traced; trace: its
    Trace. lines: the first and last to show, as the file numbers them; None for
    the function, or functions, that the trace saw. A bar is as long as the wavefronts of the data
    pipe that the line took, those that were needed at best told apart, all on one scale; of global
    memory the words name the sectors, too. Accesses whose wavefronts are not counted, such as
    atomics, show sectors, on a scale of their own. Raises ValueError if the trace has costs on
    none of these lines.
    """
    text = str(getattr(source, "source", source)).splitlines()
    costs: dict[int, list[_Row]] = {}
    file = getattr(getattr(source, "kernel", source), "filename", "").rpartition("/")[2]
    for place, cost in sorted(trace.costs.items()):
        if file and place.file not in ("", file):  # a header's line
            continue
        costs.setdefault(place.line, []).append((place, *_measure(cost), cost))
    low, high = lines or _around(text, costs)
    shown = {line: rows for line, rows in costs.items() if low <= line <= high}
    if not shown:
        raise ValueError(f"no memory access was traced on lines {low} to {high}")
    longest: dict[str, int] = {}
    every = [row for rows in shown.values() for row in rows]
    for _, unit, used, *_ in every:
        longest[unit] = max(longest.get(unit, 1), used)
    body, code = [], []
    for number in range(low, high + 1):
        label = f'<span style="opacity:.7">{number:>{len(str(high))}}</span>'
        code.append(f"{label}  {html.escape(text[number - 1])}")
        if number in shown:
            body.append(_pre(code))
            body += [_cost(row, longest) for row in shown[number]]
            code = []
    body.append(_pre(code))
    place, unit, used, best, cost = max(
        every, key=lambda row: row[2] / longest[row[1]] + (row[2] - row[3]) / longest[row[1]]
    )
    requests = cost.requests
    words = (
        f"Line {place.line}, {place.kind} of {place.array}: {used:,} {unit}s, "
        f"{_each(used, requests)} for each request of a warp, {_each(best, requests)} at best"
    )
    scales = "; sectors have one scale, wavefronts another" if len(longest) > 1 else ""
    parts = ", ".join(f"line {line}" for line in shown)
    alt = f"Source with what its memory accesses cost, at {parts}. {words}."
    return Listing(
        "".join(body),
        alt,
        f"{words}. Bars show what each line asks for in the whole run: blue at best, "
        f"vermilion more than that{scales}.",
    )


def _measure(cost: Cost | SharedCost) -> tuple[str, int, int]:
    """What a bar shows: the unit, how many, and how many at best."""
    if cost.wavefronts or isinstance(cost, SharedCost):
        return "wavefront", cost.wavefronts, cost.ideal_wavefronts
    return "sector", cost.sectors, cost.ideal


def _around(text: list[str], costs: Iterable[int]) -> tuple[int, int]:
    """From the function header above the first line with costs to the brace below the last."""
    numbers = [line for line in costs if 1 <= line <= len(text)]
    if not numbers:
        raise ValueError(
            "no memory access was traced on any line of this source: is it the one that was traced?"
        )
    low = high = min(numbers)
    words = r"(__global__|__device__|extern|template)\b"
    header = re.compile(rf"\S.*\b{words}|{words}")
    while low > 1 and not header.match(text[low - 1]):
        low -= 1
    while low > 1 and header.match(text[low - 2]):
        low -= 1
    high = max(numbers)
    while high < len(text) and not text[high - 1].startswith("}"):
        high += 1
    return low, high


def _pre(code: list[str]) -> str:
    """Lines of code."""
    return f'<pre style="{_CODE}">' + "\n".join(code) + "</pre>" if code else ""


def _cost(row: _Row, longest: Mapping[str, int]) -> str:
    """A bar and its words; longest: by unit, the longest bar."""
    place, unit, used, best, cost = row
    requests = cost.requests
    bars = "".join(
        f'<span style="width:{100 * part / longest[unit]:.2f}%;background:{colour}"></span>'
        for part, colour in ((min(best, used), BEST), (max(used - best, 0), MORE))
    )
    sectors = ""
    if unit == "wavefront" and isinstance(cost, Cost):
        asked = _units(cost.sectors, requests, "sector")
        sectors = f" ({asked}, {_each(cost.ideal, requests)} at best)"
    return (
        f'<div style="{_COST.format(MORE if used > best else BEST)}">'
        f'<span style="flex:0 0 7em">{html.escape(f"{place.kind} {place.array}")}</span>'
        f'<span style="flex:0 0 9em;display:flex;height:.8em">{bars}</span>'
        f"<span>{_units(used, requests, unit)} a request, {_each(best, requests)} at best; "
        f"{used:,} in all{sectors}</span></div>"
    )


def _each(total: int, requests: int) -> str:
    """For a request."""
    return f"{total / requests:.3g}"


def _units(total: int, requests: int, unit: str) -> str:
    """For a request, with the unit."""
    return f"{_each(total, requests)} {unit}" + ("" if total == requests else "s")
