"""What ranks do over time: products and transfers, predicted or measured, a lane for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anywarp.draw import PALETTE, Figure, svg

from ...parallel.gpus import Span

LEFT, WIDE = 52, 300
PRODUCT, TRANSFER, APART = 16, 6, 9  # heights, and the distance from a rank to the next
NUMBERED = 18  # a product that is as wide has the number of its round
NAMES = {"multiply": "product", "transfer": "transfer"}
COLOURS = {"multiply": PALETTE["green"], "transfer": PALETTE["blue"]}


def ranks(pictures: Mapping[str, Iterable[Sequence[Any]]]) -> Figure:
    """When each rank multiplies and when it sends and receives.

    pictures: by title, what is drawn under one another on one scale, each a list of (rank, what,
    round, start, end) in seconds, as `parallel.model.predict` gives in `spans` and the records have
    in "timelines"; what is "multiply" or "transfer". Of products that overlap, in two streams, the
    later one is drawn from where the other ends: until then there are no places for its blocks.
    Raises ValueError without any.
    """
    lanes = {title: [Span(*span) for span in spans] for title, spans in pictures.items()}
    if not lanes or not all(lanes.values()):
        raise ValueError("ranks needs spans: (rank, what, round, start, end)")
    longest = max(span.end for spans in lanes.values() for span in spans)
    kinds = {span.what for spans in lanes.values() for span in spans}
    parts: list[str] = []
    y, words = 14.0, []
    for title, spans in lanes.items():
        drawn, y, said = _draw(title, spans, y, longest)
        parts += drawn
        words.append(said)
    parts += [
        svg.text(LEFT, y, "0"),
        svg.text(LEFT + WIDE, y, _time(longest), "end"),
        svg.legend(LEFT, y + 22, [(NAMES[what], _look(what)) for what in COLOURS if what in kinds]),
    ]
    return Figure(
        svg.narrow(y + 30, *parts),
        f"Timeline of ranks. {'. '.join(words)}.",
        f"A row is a rank; numbers are those of the rounds. {'. '.join(words)}.",
    )


def _look(what: str) -> dict[str, Any]:
    """The fill of a span that is a product or a transfer, as SVG attributes."""
    return {"fill": COLOURS[what], "fill_opacity": 0.55 if what == "multiply" else 0.9}


def _draw(title: str, spans: list[Span], y: float, longest: float) -> tuple[list[str], float, str]:
    """The title and a row for each rank, where the next picture begins, and what is said of it:
    the time in which the rank with the most of it multiplies nothing."""
    parts, busy = [svg.text(0, y, title, font_weight="bold")], []
    y += 9
    for rank in sorted({span.rank for span in spans}):
        parts.append(svg.text(LEFT - 6, y + 13, f"rank {rank}", "end"))
        own = _in_turn([span for span in spans if span.rank == rank])
        for span in own:
            parts += _bar(span, y, WIDE / longest)
        busy.append(sum(max(0.0, s.end - s.start) for s in own if s.what == "multiply"))
        y += PRODUCT + TRANSFER + APART
    end = max(span.end for span in spans)
    said = f"{title}: {_time(end)}, of which {(end - min(busy)) / end:.1%} without a product"
    return parts, y + 16, said


def _in_turn(spans: list[Span]) -> list[Span]:
    """One rank's, with products that begin where the one before ends."""
    in_turn, at = [], 0.0
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if span.what == "multiply":
            span = span._replace(start=max(at, span.start))
            at = max(at, span.end)
        in_turn.append(span)
    return in_turn


def _bar(span: Span, y: float, scale: float) -> list[str]:
    """A span as a bar; a product that is wide enough has the number of its round."""
    multiplies = span.what == "multiply"
    high, top = (PRODUCT, y) if multiplies else (TRANSFER, y + PRODUCT + 1)
    x, width = LEFT + scale * span.start, max(scale * (span.end - span.start), 1)
    look = _look(span.what) | ({"stroke": "currentColor"} if multiplies else {})
    parts = [svg.rect(x, top, width, high, stroke_width=0.6, **look)]
    if multiplies and width >= NUMBERED:
        parts.append(svg.text(x + width / 2, y + 12, span.round, "middle"))
    return parts


def _time(seconds: float) -> str:
    """Seconds in words: "1.2 s" or "3.4 ms"."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
