"""Several pictures in one place, to step through: HTML that needs no kernel and no network.

Steppers of like frames can stand beside one another and move together: the same moment of two
kernels, or of more.

The page gets the first frame, as an <img>, and of the others only what differs from it: the
numbers of nodes in document order, the attribute, and its value in each frame. The script in
stepper.js puts the drawing into the page, in the page's colours, with controls. Where scripts do
not run (notebooks that are not trusted, some viewers) the <img> remains, dark on white.
"""

from __future__ import annotations

import functools
import hashlib
import html
import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .figure import BOX, Figure, beside, data_uri, figure_html, fitting

LARGEST = 60_000  # bytes of HTML
SCRIPT = Path(__file__).with_suffix(".js")
TEXT, INSIDE = "", "<"  # as stepper.js knows them
SENTENCE = re.compile(r"(?<=\.) ")  # between two


class TooLarge(ValueError):
    """The frames take more than 60 kB of HTML."""


@dataclass(frozen=True, repr=False)
class Stepper:
    """Frames (<svg> elements as in Figure) with a label each; notebooks show it as HTML.

    It is moved with the mouse, or by arrows, Page up and down, Home and End when it has the focus;
    its play button stops at the end or as soon as anything is touched, and is left out where the
    reader's system asks for less motion. `what` is the name of the slider: what it steps through.
    """

    frames: tuple[str, ...]
    labels: tuple[str, ...]
    alt: str
    caption: str
    what: str = "step"

    def __repr__(self) -> str:
        return f"<Stepper of {len(self.frames)}: {self.alt}>"

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int) -> Figure:
        """One frame by itself, its label in front of the caption."""
        label = self.labels[index]
        return Figure(self.frames[index], f"{self.alt} {label}.", f"{label}. {self.caption}")

    def _repr_html_(self) -> str:
        return page((self,), self.caption)


def stepper(
    frames: Sequence[Figure | str],
    labels: Sequence[str],
    alt: str,
    caption: str = "",
    what: str = "step",
) -> Stepper:
    """A Stepper through `frames`: Figures or <svg> elements with xmlns, best of like structure.

    labels: what each frame shows, in a few words; alt: what all of them show; what: the name of
    what it steps through, such as "loads of A". Raises ValueError unless there is a label for each
    frame and at least one, and if the HTML is larger than 60 kB (TooLarge).
    """
    svgs = tuple(str(getattr(frame, "svg", frame)) for frame in frames)
    if not svgs or len(svgs) != len(labels):
        raise ValueError(
            f"there are {len(svgs)} frames and {len(labels)} labels: "
            "one label for each frame, and at least one frame"
        )
    made = Stepper(svgs, tuple(labels), alt, caption, what)
    _require_small(made._repr_html_(), len(svgs))
    return made


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Steppers with a title each, under one slider; notebooks show them as HTML."""

    steppers: Mapping[str, Stepper]

    def __repr__(self) -> str:
        told = "; ".join(f"{title}: {each.alt}" for title, each in self.steppers.items())
        return f"<Side by side. {told}>"

    def _repr_html_(self) -> str:
        said = {title: SENTENCE.split(each.caption) for title, each in self.steppers.items()}
        shared = [one for one in next(iter(said.values())) if all(one in x for x in said.values())]
        own = {title: [one for one in words if one not in shared] for title, words in said.items()}
        lines = [f"{title}: {' '.join(words)}" for title, words in own.items() if words]
        caption = "\n".join([*lines, " ".join(shared)]).strip()
        return page(tuple(self.steppers.values()), caption, tuple(self.steppers))


def side_by_side(steppers: Mapping[str, Stepper]) -> SideBySide:
    """Steppers by title, moved by one slider, beside one another where the page has room.

    One with fewer frames than another is moved in proportion: they begin and end together. Raises
    TypeError for a picture that has but one frame, ValueError for fewer than two steppers, and
    TooLarge if they take more than 60 kB of HTML together.
    """
    for title, picture in steppers.items():
        if not isinstance(picture, Stepper):
            raise TypeError(
                f"{title!r} is a {type(picture).__name__}, not a stepper: show it by itself"
            )
    if len(steppers) < 2:
        raise ValueError("one stepper has nothing to stand beside: show it by itself")
    made = SideBySide(dict(steppers))
    _require_small(made._repr_html_(), sum(map(len, steppers.values())))
    return made


def _require_small(made: str, frames: int) -> None:
    """Raises TooLarge if the HTML takes more than a page should carry."""
    size = len(made.encode())
    if size > LARGEST:
        raise TooLarge(
            f"{frames} frames take {size} bytes of HTML, more than {LARGEST}: show fewer"
        )


def page(steppers: Sequence[Stepper], caption: str, titles: Sequence[str] = ()) -> str:
    """The HTML of one stepper, or of several, each with a title, that are moved together."""
    drawings = "".join(itertools.starmap(_drawing, itertools.zip_longest(steppers, titles)))
    style = ""
    if titles:
        drawings = f'<div style="display:flex;flex-wrap:wrap;gap:.5em">{drawings}</div>'
        style = ' style="white-space:pre-line"'  # a line for each caption
    what = " and ".join(dict.fromkeys(each.what for each in steppers))
    panels = [[each.labels, differences(each.frames)] for each in steppers]
    first = "".join(each.frames[0] for each in steppers)
    return scripted(SCRIPT, first, (what, panels, titles), drawings, caption, style)


def _drawing(picture: Stepper, title: str | None) -> str:
    """The first frame, as an image; with a title if it is one of several."""
    svg, alt = picture.frames[0], f"{title}: {picture.alt}" if title else picture.alt
    box = (
        f'<div {BOX}><img alt="{html.escape(alt, quote=True)}" src="{data_uri(svg)}" '
        f'style="{fitting(svg)}"></div>'
    )
    if not title:
        return box
    head = f'<div style="font-weight:600">{html.escape(title)}</div>'
    return f'<div style="{beside(svg)}">{head}{box}</div>'


def differences(frames: Sequence[str]) -> list[list[Any]]:
    """What changes between frames, as stepper.js takes it; nodes that change alike are one."""
    changes: dict[tuple[Any, ...], list[int]] = {}
    count = itertools.count()

    def note(node: int, name: str, values: list[Any]) -> None:
        if len(set(values)) > 1:
            changes.setdefault((name, *values), []).append(node)

    def walk(nodes: Sequence[ET.Element]) -> None:
        first, number = nodes[0], next(count)
        for name in sorted({name for node in nodes for name in node.attrib}):
            note(number, name.rpartition("}")[2], [node.get(name) for node in nodes])
        if len({tuple(child.tag for child in node) for node in nodes}) > 1:
            note(number, INSIDE, [_inside(node) for node in nodes])
            for _ in range(sum(1 for _ in first.iter()) - 1):
                next(count)
        elif len(first):
            for children in zip(*nodes):
                walk(children)
        else:
            note(number, TEXT, [node.text or "" for node in nodes])

    walk([ET.fromstring(svg) for svg in frames])
    return [[nodes, name, *_values(values)] for (name, *values), nodes in changes.items()]


def _inside(node: ET.Element) -> str:
    """The children of an element, as text."""
    text = "".join(ET.tostring(child, encoding="unicode") for child in node)
    return re.sub(r' xmlns:ns0="[^"]*"', "", text).replace("<ns0:", "<").replace("</ns0:", "</")


def _values(values: list[Any]) -> list[Any]:
    """[values] or [distinct values, order], whichever is shorter; numbers as numbers."""
    values = [_number(value) for value in values]
    distinct = list(dict.fromkeys(values))
    indexed = [distinct, [distinct.index(value) for value in values]]
    return min([values], indexed, key=lambda form: len(data(form)))


def _number(value: Any) -> Any:
    """A number for the text of one, other values as they are."""
    try:
        return int(value) if str(int(value)) == value else value
    except (TypeError, ValueError):
        return value


# ------------------------------------------------------------- scripts of a page


@functools.cache
def code(path: Path) -> str:
    """A script without its comments, indentation and line ends."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(re.sub(r"(^|\s+)//.*", "", line).strip() for line in lines).strip()


def data(value: Any) -> str:
    """JSON that can stand in a <script>."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def scripted(
    path: Path, first: str, values: Iterable[Any], inside: str, caption: str, style: str = ""
) -> str:
    """The HTML of a picture with a script, which is called with these values.

    first: what tells the picture from others in the page, beside the values; inside: what there is
    without the script, which finds it by the script's name. style: of the caption.
    """
    arguments = ",".join(map(data, values))
    key = hashlib.sha256((first + arguments).encode()).hexdigest()[:12]
    run = f'<script>({code(path)})("{key}",{arguments})</script>'
    return figure_html(f'<div data-{path.stem}="{key}">{inside}</div>', caption, style, run)
