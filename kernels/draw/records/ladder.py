"""The ladder, whole or so far: what each step up to this one reaches."""

from __future__ import annotations

from typing import Any

from anywarp.draw import PALETTE, Figure, svg

from ...ladder.step import Step, step as step_of, steps
from ...records import CUBLAS, RECORDED_ON, Record, experiments, results as recorded
from .plots import label_of, origin_of, three_digits

LEFT, HEAD = 138, 24
ROWS = 19, 13, 11  # from one to the next, the bar, its text's line; of the whole ladder, which
DENSE = 13, 10, 9  # stands on the first screen of a phone with all else that is to be seen there
RIGHT = svg.NARROW - 46  # where the longest bar ends; right of it stand the numbers
NEIGHBOURS = 4  # bars, of a step with its own
OWN: dict[str, Any] = {"fill": PALETTE["blue"]}
BEFORE: dict[str, Any] = {"fill": PALETTE["blue"], "fill_opacity": 0.35, "stroke": PALETTE["blue"]}
EARLIER: dict[str, Any] = {"fill": "currentColor", "fill_opacity": 0.2}


def ladder(step: Any = None, size: int = 4096) -> Figure:
    """TFLOPS of a step and of those before it at M = N = K = size, and cuBLAS as a line, as
    recorded on an H200.

    step: a Step or what `kernels.step` takes; there are NEIGHBOURS bars. The step's own is filled,
    that of the one before outlined; a star marks those on tensor cores, see `timed`. Raises
    ValueError if one of them was not measured at that size. Of no step, all that were measured,
    all filled.
    """
    results = recorded(RECORDED_ON)
    whole = step is None
    last = None if whole else step_of(step).number
    shown = [s for s in steps() if (results.find(s, size) if last is None else s.number <= last)]
    if not whole:
        shown = shown[-NEIGHBOURS:]
    names = [label_of(s.label) + "*" * s.tensor_cores for s in shown]
    records = [timed(s, size) for s in shown]
    rates = [record.tflops for record in records]
    cublas = results.at(CUBLAS, size).tflops
    scale = (RIGHT - LEFT) / max([cublas, *rates])
    pitch, bar, line = DENSE if whole else ROWS
    own = len(shown) - 1
    looks = dict.fromkeys(range(len(shown)), OWN) if whole else {own: OWN, own - 1: BEFORE}
    parts, top = [], 22
    if not whole:
        head = _head(names[own], rates[own], rates[own - 1] if own else None)
        parts.append(svg.text(0, 14, head, font_weight="bold", font_size=13))
        top += HEAD
    for n, (name, rate) in enumerate(zip(names, rates)):
        y, look = top + pitch * n, looks.get(n, EARLIER)
        bold = "bold" if n in looks and not whole else None
        parts += [
            svg.text(LEFT - 6, y + line, name, "end", font_weight=bold, font_size=11),
            svg.rect(LEFT, y, scale * rate, bar, **look),
            svg.text(svg.NARROW - 2, y + line, three_digits(rate), "end", font_weight=bold),
        ]
    bottom = top + pitch * len(names)
    x = LEFT + scale * cublas
    dashed = {"stroke": "currentColor", "stroke_dasharray": "4 3"}
    parts += [
        svg.path(f"M{svg.short(x)} {top - 6}V{bottom - 3}", **dashed),
        svg.text(x, top - 10, f"cuBLAS {three_digits(cublas)}", "end"),
        svg.text(LEFT, bottom + 11, f"TFLOPS at M = N = K = {size}"),
        *any(s.tensor_cores for s in shown) * [svg.text(0, bottom + 11, "* tensor cores, alone")],
    ]
    origin = origin_of(results)
    listed = ", ".join(f"{name} {three_digits(r)}" for name, r in zip(names, rates))
    caption = f"Median, {origin}."
    if not whole:
        outlined = ", the outlined one the step before" if own else ""
        # of cuBLAS in the same rounds, not of the line
        percent = 100 * (results.share_of_cublas(records[-1]) or 0)
        share = f"{percent:{'.2g' if percent < 100 else '.0f'}}% of cuBLAS"
        caption = f"The filled bar is this step, {share}{outlined}. {caption}"
    return Figure(
        svg.narrow(bottom + 18, *parts),
        f"The ladder{'' if whole else ' so far'}. TFLOPS at M = N = K = {size}, {origin}: "
        f"{listed}; cuBLAS {three_digits(cublas)}.",
        caption,
    )


def timed(step: Step, size: int) -> Record:
    """A step's record on an H200; of one on tensor cores, that by itself: in turns with cuBLAS and
    others, the clock is another. Raises ValueError if it was not measured."""
    alone = experiments(RECORDED_ON)["power"].find(step, size) if step.tensor_cores else None
    return alone or recorded(RECORDED_ON).at(step, size)


def _head(name: str, own: float, before: float | None) -> str:
    """ "6.39 → 1.71 TFLOPS, × 0.27": what the step made of the one before."""
    if before is None:
        return f"{name}: {three_digits(own)} TFLOPS"
    return f"{three_digits(before)} → {three_digits(own)} TFLOPS, × {own / before:.3g}"
