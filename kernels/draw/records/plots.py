"""Charts of timings: TFLOPS against matrix size, and the roofline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from anywarp.draw import INK, PALETTE, Figure, from_matplotlib, style

from ...records import CUBLAS, Record, Results
from .labels import LETTER, beside, write

MARKERS = "osD^vP"
LINES = ("-", "--")
WORDS = {"-": "solid", "--": "dashed"}
TOGETHER = 0.02  # sizes that differ by less have one place on the axis
NEAR = 8  # a label that begins this close to the right end could reach those beyond it
WIDTH, TICK = 370, 34  # typographic points: of a chart without its labels, and of a size
LABEL_GAP = 0.075  # least distance between two labels, in heights of the axes


def gflops(results: Results | None, steps: Sequence[Any], live: Results | None = None) -> Figure:
    """TFLOPS of square products against their size, for steps (or their labels) and cuBLAS.

    A curve is the median, its band the 10th to 90th percentile, the roof the measured FMA peak.
    With both `results` and `live`, the former are dashed. Raises ValueError if none of the steps
    was measured.
    """
    names = [getattr(step, "label", step) for step in steps]
    sources = [source for source in (live, results) if source is not None]
    if not any(_squares(source, name) for source in sources for name in names):
        raise ValueError(f"there are no timings of {', '.join(names) or 'no step'}")
    with style() as plt:
        fig, ax = plt.subplots()
        peaks = _draw_gflops(ax, sources, names)
        words = ("solid: ", "dashed: ") if len(sources) > 1 else ("",)
        origins = [word + origin_of(source) for word, source in zip(words, sources)]
        ax.set_title("\n".join(origins), loc="left", fontsize="medium")
    origin = "; ".join(origins)
    caption = (
        "Median TFLOPS against size, in a band from the 10th to the 90th percentile; the line "
        f"above is the measured FMA peak. {sentence(origin)}"
    ) + "".join(
        f" Not timed here: {reason}."
        for reason in (() if live is None else live.left_out)
        if reason.partition(":")[0].partition(" at ")[0] in names
    )
    curves = [ends for name in (CUBLAS, *names) if (ends := _ends(sources, name))]
    roofs = " and ".join(f"{peak:.3g}" for peak in peaks)
    alt = f"TFLOPS against M = N = K, {origin}. FMA peak {roofs}. {'. '.join(curves)}."
    return from_matplotlib(fig, alt, caption)


def _draw_gflops(ax: Any, sources: Sequence[Results], names: Sequence[str]) -> list[float]:
    """Curves, roofs, their labels and the axes; returns the heights of the roofs."""
    looks = looks_of(names)
    drawn: list[Record] = []
    ends: dict[str, Record] = {}  # the right end of each name's longest curve: its label goes there
    roofs: dict[str, tuple[float, str]] = {}  # one for each GPU
    for source, line in zip(sources, LINES):
        roofs.setdefault(source.gpu, (source.fma_peak_tflops, line))
        for name in (CUBLAS, *names):
            curve = _squares(source, name)
            if name == CUBLAS:  # it is timed beside every step; only the sizes of these count
                own = {r.M for other in names for r in _squares(source, other)}
                curve = [r for r in curve if r.M in own or not own]
            if not curve:
                continue
            sizes = [r.M for r in curve]
            band = [r.tflops_p10 for r in curve], [r.tflops_p90 for r in curve]
            colour, marker = looks[name]
            ax.fill_between(sizes, *band, color=colour, alpha=0.25, linewidth=0)
            rates = [r.tflops for r in curve]
            ax.plot(sizes, rates, line, color=colour, marker=marker, clip_on=False)
            drawn += curve
            if name not in ends or curve[-1].M > ends[name].M:
                ends[name] = curve[-1]
    sizes = sorted({r.M for r in drawn})
    room = WIDTH - LETTER * max(len(curve_label(name)) for name in ends)
    log2_axis(ax, sizes, "M = N = K", most=max(2, int(room / TICK)))
    ax.set_xlim(sizes[0] / 1.2, sizes[-1])  # the labels stand right of the axes
    high = max(*(peak for peak, _ in roofs.values()), *(r.tflops for r in drawn))
    log = 10 * min(r.tflops for r in ends.values()) < high
    _rate_axis(ax, min(r.tflops for r in drawn), high, log)
    labels = [(r.M, r.tflops, curve_label(name), looks[name][0]) for name, r in ends.items()]
    for peak, line in roofs.values():
        ax.axhline(peak, color=INK, linewidth=0.9, linestyle=line)
        labels.append((sizes[-1], peak, f"FMA peak: {peak:.3g}", INK))
    last = [label for label in labels if label[0] * NEAR > sizes[-1]]
    for size in sizes:
        _labels(ax, [label for label in labels if label[0] == size and label not in last])
    _labels(ax, [(sizes[-1], *label[1:]) for label in last])  # right of all curves
    return [peak for peak, _ in roofs.values()]


def roofline(
    results: Results, points: Iterable[Sequence[Any]] = (), live: Results | None = None
) -> Figure:
    """The roofline of a GPU: its FMA peak and its copying in device memory, with points below.

    A point is (label, FLOP per byte of device memory traffic, TFLOPS); without TFLOPS (None) it
    is drawn hollow on the roof, the most it can reach. S. Williams, A. Waterman, D. Patterson,
    "Roofline: an insightful visual performance model for multicore architectures", CACM 52(4),
    2009.

    `live` is another GPU, with a roof of its own. A fourth member of a point is a step, or its
    label, whose rate at the largest product timed on that GPU is drawn at the same FLOP per byte.
    """
    points = list(points)
    coloured = list(zip(points, itertools.cycle(PALETTE.values())))
    own = [Point(point[0], point[1], point[2], colour) for point, colour in coloured]
    roofs = [Roof(results.fma_peak_tflops, results.copy_gbs, origin_of(results), own)]
    if live is not None:
        here = Roof(live.fma_peak_tflops, live.copy_gbs, origin_of(live), _here(coloured, live))
        roofs = [roofs[0]._replace(line="--"), here._replace(marker="D")]
    ridges = [roof.ridge for roof in roofs]
    every = [point for roof in roofs for point in roof.points]
    intensities = [point.x for point in every]
    left = 2.0 ** math.floor(math.log2(min([min(ridges) / 32, *(x / 2 for x in intensities)])))
    right = 2.0 ** math.ceil(math.log2(max([max(ridges) * 8, *(x * 2 for x in intensities)])))

    with style() as plt:
        fig, ax = plt.subplots()
        octaves = range(round(math.log2(right / left)) + 1)
        log2_axis(ax, [left * 2**i for i in octaves], "FLOP per byte of device memory traffic")
        lows = [left * roof.gbs / 1000 for roof in roofs]
        rates = [point.y for point in every if point.y]
        _rate_axis(ax, min([*lows, *rates]), max(roof.peak for roof in roofs), log=True)
        labels = []
        for roof in roofs:
            below = roof.gbs == min(other.gbs for other in roofs)
            labels += _draw_roof(ax, roof, left, right, below)
        beside(ax, labels)
        words = [f"{WORDS[roof.line]}: {roof.origin}" for roof in reversed(roofs)]
        title = words if live is not None else [roofs[0].origin]
        ax.set_title("\n".join(title), loc="left", fontsize="medium")
    origin = "; ".join(title)
    ridge = " and ".join(dict.fromkeys(f"{ridge:.3g}" for ridge in ridges))
    caption = (
        f"Below {ridge} FLOP per byte the copy bandwidth is the limit, above it the FMA peak. "
        f"{sentence(origin)}"
    )
    alt = f"Roofline, {origin}: " + " ".join(
        f"FMA peak {roof.peak:.3g} TFLOPS, copy bandwidth {roof.gbs:.0f} GB/s, "
        f"ridge at {roof.ridge:.3g} FLOP per byte."
        + "".join(
            f" {point.label} at {point.x:.3g} FLOP per byte"
            + (f": {point.y:.3g} TFLOPS." if point.y is not None else ".")
            for point in roof.points
        )
        for roof in roofs
    )
    return from_matplotlib(fig, alt, caption)


class Point(NamedTuple):
    """A point of a roofline."""

    label: str
    x: float  # FLOP per byte
    y: float | None  # TFLOPS
    colour: str


class Roof(NamedTuple):
    """The roof of a GPU, and points under it."""

    peak: float  # TFLOPS
    gbs: float
    origin: str
    points: list[Point]
    line: str = "-"
    marker: str = "o"

    @property
    def ridge(self) -> float:
        return 1000 * self.peak / self.gbs


def _here(points: Iterable[tuple[Sequence[Any], str]], live: Results) -> list[Point]:
    """The points that hold of the other GPU, in the colours of those on the first: those without a
    rate, and the rates of steps on it."""
    here = []
    for (label, x, y, *step), colour in points:
        timed = live.select(step[0]) if step else ()
        if timed or y is None:
            rate = timed[-1].tflops if timed else None
            here.append(Point(f"{label}, here", x, rate, colour))
    return here


def _draw_roof(
    ax: Any, roof: Roof, left: float, right: float, below: bool
) -> list[tuple[float, float, str, str]]:
    """One roof, its bandwidth named below it or above, and its points; returns their labels."""
    peak, slope, ridge = roof.peak, roof.gbs / 1000, roof.ridge
    first = roof.marker == "o"  # the words of another roof stand on the other side of it
    bottom = ax.get_ylim()[0]
    ax.plot([left, ridge, right], [left * slope, peak, peak], roof.line, color=INK)
    ax.plot([ridge, ridge], [bottom, peak], ":", color=INK, linewidth=0.9)
    name = f"copy: {roof.gbs:.0f} GB/s"
    low = left ** (2 / 3) * ridge ** (1 / 3) if below else left ** (1 / 3) * ridge ** (2 / 3)
    where: dict[str, Any] = dict(dx=7, dy=-6) if below else dict(dx=-7, dy=6, ha="right")
    write(ax, low, low * slope, name, INK, **where)
    where = dict(dy=5, va="bottom") if first else dict(dy=-5, va="top")
    write(ax, right, peak, f"FMA peak: {peak:.3g}", INK, dx=0, ha="right", **where)
    dy = 2 if first else 16
    write(ax, ridge, bottom, f"ridge: {ridge:.3g}", INK, dx=4, dy=dy, va="bottom")
    labels = []
    for label, x, y, colour in roof.points:
        under = min(peak, x * slope)
        label = label if first else "here"  # of which point, its colour says
        if y is None:
            ax.plot([x], [under], roof.marker, color=colour, fillstyle="none", markersize=7)
            labels += [(x, under, label, colour)] * first
        else:
            ax.plot([x, x], [y, under], ":", color=colour, linewidth=1.2)
            ax.plot([x], [y], roof.marker, color=colour, markersize=7)
            labels.append((x, y, f"{label}: {y:.3g}", colour))
    return labels


def _squares(source: Results, name: str) -> list[Record]:
    """The records of square products, smallest first. Of sizes that fall together on the axis,
    such as 4095 and 4096, only the one with the most factors of 2: it is on the curve."""
    squares = [r for r in source.select(name) if r.M == r.N == r.K]
    return [
        r
        for r in squares
        if all(r.M & -r.M >= o.M & -o.M for o in squares if abs(r.M - o.M) < TOGETHER * r.M)
    ]


def looks_of(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The colour and the marker of each curve: steps in turn, cuBLAS in ink and without a mark."""
    in_turn = zip(itertools.cycle(PALETTE.values()), itertools.cycle(MARKERS))
    return dict(zip((name for name in names if name != CUBLAS), in_turn)) | {CUBLAS: (INK, "")}


def label_of(name: str) -> str:
    """ "03_coalesced" -> "03 coalesced"; defines that follow stay as they are."""
    step, space, defines = name.partition(" ")
    return "cuBLAS" if name == CUBLAS else step.replace("_", " ") + space + defines


def curve_label(name: str) -> str:
    """As `label_of`, but of a variant its step's number and defines: a label narrows the plot."""
    step, _, defines = name.partition(" ")
    return f"{step.partition('_')[0]} {defines}" if defines else label_of(name)


def three_digits(rate: float) -> str:
    """A rate in three significant digits: "12.3"."""
    return f"{rate:#.3g}".rstrip(".")


def origin_of(source: Results) -> str:
    """Where the numbers come from, recorded or live, and of which GPU."""
    if source.recorded:
        return f"recorded on {source.gpu}, {source.date}"
    return f"live on {source.gpu}"


def recorded_on(record: Mapping[str, Any]) -> str:
    """Of a record that is no `Results`."""
    return "recorded on {gpu}, {date}".format(**record["provenance"])


def sentence(words: str) -> str:
    """The words with a capital letter and a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def _ends(sources: Sequence[Results], name: str) -> str:
    """The first and last point of a name's first curve, in words; "" if there is none."""
    curve = next((curve for source in sources if (curve := _squares(source, name))), [])
    ends = " to ".join(f"{r.tflops:.2g} at {r.M}" for r in curve[:: len(curve) - 1 or 1])
    return f"{label_of(name)}: {ends}" if curve else ""


def plain(x: float) -> str:
    """ "4096", "1/8"."""
    return f"{x:g}" if x >= 1 else f"1/{1 / x:g}"


def log2_axis(
    ax: Any, ticks: Sequence[Any], label: str, most: int = 10, words: Callable[[Any], str] = plain
) -> None:
    """The horizontal axis: logarithmic, with no more than `most` of these ticks, in words."""
    ax.set_xscale("log", base=2)
    shown = ticks[:: math.ceil(len(ticks) / most)]
    ax.set_xticks(shown, list(map(words, shown)))
    ax.minorticks_off()
    ax.set_xlabel(label)


def _rate_axis(ax: Any, low: float, high: float, log: bool) -> None:
    """The TFLOPS axis: logarithmic from low to high, or linear from 0 to high."""
    from matplotlib.ticker import LogLocator

    if log:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.4, high * 1.5)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 2000 * low else (1,)))
    else:
        ax.set_ylim(0, high * 1.08)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_ylabel("TFLOPS")
    grid(ax)


def grid(ax: Any) -> None:
    """Faint lines across, behind all else."""
    ax.grid(axis="y", color=INK, alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)


def _labels(ax: Any, labels: Iterable[tuple[float, float, str, str]]) -> None:
    """Labels (x, y, text, colour) right of points, each clear of those above it."""
    to_axes = ax.transData + ax.transAxes.inverted()
    ceiling = math.inf
    for x, y, text, colour in sorted(labels, key=lambda label: -label[1]):
        ceiling = min(to_axes.transform((x, y))[1], ceiling - LABEL_GAP)
        write(ax, x, ceiling, text, colour, at=ax.get_xaxis_transform())
