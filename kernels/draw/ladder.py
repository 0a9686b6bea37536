"""The ladder, whole or so far: what each step up to this one reaches."""

from __future__ import annotations

from typing import Any

from ..ladder.step import step as step_of, steps
from ..measure.records import CUBLAS, Results, results as recorded
from . import svg
from .figure import PALETTE, Figure
from .plots import label_of, origin_of, three_digits

GPU = "NVIDIA H200"
LEFT, HEAD = 138, 24
ROWS = 19, 13, 11  # from one to the next, the bar, its text's line; of the whole ladder, which
DENSE = 13, 10, 9  # stands on the first screen of a phone with all else that is to be seen there
RIGHT = svg.NARROW - 46  # where the longest bar ends; right of it stand the numbers
OWN = {"fill": PALETTE["blue"]}
BEFORE = {"fill": PALETTE["blue"], "fill_opacity": 0.35, "stroke": PALETTE["blue"]}
EARLIER = {"fill": "currentColor", "fill_opacity": 0.2}


def ladder(step: Any = None, results: Results | None = None, size: int = 4096) -> Figure:
    """TFLOPS of each step up to this one at M = N = K = size, and cuBLAS as a line.

    step: a Step or what `kernels.step` takes; results: the timings, None for those recorded on an
    H200. The step's own bar is filled, that of the step before it outlined. Raises ValueError if
    one of them was not measured at that size. Of None, all steps that were measured, all filled.
    """
    results = recorded(GPU) if results is None else results
    whole = step is None
    shown = [s for s in steps() if (results.find(s, size) if whole else s.number <= _number(step))]
    names = [one.label for one in shown]
    records = [results.at(name, size) for name in names]
    rates = [record.tflops for record in records]
    cublas = results.at(CUBLAS, size).tflops
    scale = (RIGHT - LEFT) / max([cublas, *rates])
    pitch, bar, line = DENSE if whole else ROWS
    parts, top = [], 22
    if not whole:
        parts.append(svg.text(0, 14, _head(names, rates), font_weight="bold", font_size=13))
        top += HEAD
    for n, (name, rate) in enumerate(zip(names, rates)):
        y, last = top + pitch * n, len(names) - 1 - n
        bold = "bold" if last < 2 and not whole else None
        look = OWN if whole else (OWN, BEFORE)[last] if last < 2 else EARLIER
        parts += [
            svg.text(
                LEFT - 6,
                y + line,
                label_of(name),
                text_anchor="end",
                font_weight=bold,
                font_size=11,
            ),
            svg.tag("rect", x=LEFT, y=y, width=scale * rate, height=bar, **look),
            svg.text(
                svg.NARROW - 2, y + line, three_digits(rate), text_anchor="end", font_weight=bold
            ),
        ]
    bottom = top + pitch * len(names)
    x = LEFT + scale * cublas
    parts += [
        svg.tag(
            "path",
            d=f"M{svg.short(x)} {top - 6}V{bottom - 3}",
            stroke="currentColor",
            stroke_dasharray="4 3",
        ),
        svg.text(x, top - 10, f"cuBLAS {three_digits(cublas)}", text_anchor="end"),
        svg.text(LEFT, bottom + 11, f"TFLOPS at M = N = K = {size}"),
    ]
    origin = origin_of(results)
    found = ", ".join(f"{label_of(name)} {three_digits(r)}" for name, r in zip(names, rates))
    caption = f"Median, {origin}."
    if not whole:
        outlined = ", the outlined one the step before" if len(rates) > 1 else ""
        share = _share(results.share_of_cublas(records[-1]))
        caption = f"The filled bar is this step{share}{outlined}. {caption}"
    return Figure(
        svg.document(svg.NARROW, bottom + 18, *parts, scale=svg.LARGER),
        f"The ladder{'' if whole else ' so far'}. TFLOPS at M = N = K = {size}, {origin}: {found}; "
        f"cuBLAS {three_digits(cublas)}.",
        caption,
    )


def _number(step: Any) -> int:
    return getattr(step, "number", None) or step_of(step).number


def _share(share: float | None) -> str:
    """ ", 63% of cuBLAS": of that in the same rounds, not of the line."""
    percent = 100 * (share or 0)
    return f", {percent:{'.2g' if percent < 100 else '.0f'}}% of cuBLAS" if percent else ""


def _head(names: list[str], rates: list[float]) -> str:
    """ "6.39 → 1.71 TFLOPS, × 0.27": what the last step made of the one before."""
    *_, own = rates
    if len(rates) == 1:
        return f"{label_of(names[0])}: {three_digits(own)} TFLOPS"
    before = rates[-2]
    return f"{three_digits(before)} → {three_digits(own)} TFLOPS, × {own / before:.3g}"
