"""A step's kernel as it is compiled, with what differs from another step marked."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anywarp.draw import CODE, PALETTE, boxed

from ...ladder.expressions import Expression
from ...ladder.source import MARKER, lines_of_regions
from ...ladder.step import step as find_step

MARK = f"box-shadow:inset 3px 0 {PALETTE['vermilion']};background:color-mix(in srgb," + (
    f"{PALETTE['vermilion']} 14%,transparent)"
)
MORE = 4  # columns that the rest of a line begins further right, where the page is narrow
COMMENT = re.compile(r"(//.*)$")


@dataclass(frozen=True, repr=False)
class Listed:
    """Lines of code, each with whether it is marked; notebooks show it as HTML."""

    lines: tuple[tuple[bool, str], ...]
    caption: str

    def __repr__(self) -> str:
        text = (f"{'+' if marked else ' '} {line}".rstrip() for marked, line in self.lines)
        return "\n".join([*text, "", self.caption])

    def _repr_html_(self) -> str:
        body = "".join(
            f'<span style="{_look(line)}{MARK * marked}">{_dimmed(line)}</span>'
            for marked, line in self.lines
        )
        code = f'<pre style="{CODE};white-space:pre-wrap">{body}</pre>'
        return boxed(code, "Source", self.caption)


def code(step: Any, before: Any = None, region: str | None = None) -> Listed:
    """The kernel of a step, without what its defines leave out; of a region that alone.

    step, before: a Step or what `kernels.step` takes. Marked is each line that `before` does not
    have. What is shown begins after the defaults of the defines. Raises ValueError for an
    unknown region.
    """
    step = find_step(step)
    lines = _compiled(step)
    same, note = lines, ""
    if before is not None:
        same = _compiled(before := find_step(before))
        note = f" Marked: the lines that {before.id} does not have."
    blocks = difflib.SequenceMatcher(None, _stripped(same), _stripped(lines), autojunk=False)
    old = {
        n for block in blocks.get_matching_blocks() for n in range(block.b, block.b + block.size)
    }
    shown = [n for n in _within(step, region, lines) if not MARKER.fullmatch(lines[n])]
    shown = [n for n, before_it in zip(shown, [0, *shown]) if lines[n] or lines[before_it]]
    indent = min(len(lines[n]) - len(lines[n].lstrip()) for n in shown if lines[n])
    where = f"region {region} of the" if region else "the"
    return Listed(
        tuple((n not in old and bool(lines[n]), lines[n][indent:]) for n in shown),
        f"{step.label}: {where} kernel as it is compiled.{note}",
    )


def _compiled(step: Any) -> list[str]:
    """The lines that the compiler sees, without directives and assertions, but with the marks of
    regions."""
    text = re.sub(r"^#ifndef \w+\n#define .*\n#endif\n", "", step.source, flags=re.MULTILINE)
    text = re.sub(r"^ *static_assert\((?:.|\n)*?\);\n", "", text, flags=re.MULTILINE)
    text = "\n".join(_chosen(re.sub(r"\A(?://.*\n)*", "", text).split("\n"), step.defines))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").split("\n")


def _within(step: Any, region: str | None, lines: Sequence[str]) -> range:
    """The numbers of the lines of a region, or of all."""
    if region is None:
        return range(len(lines))
    step.region(region)  # or there is none
    return range(*lines_of_regions(step.id, "\n".join(lines))[region])


def _stripped(lines: Sequence[str]) -> list[str]:
    """Without their indentation, which may differ."""
    return [line.strip() for line in lines]


def _chosen(lines: Sequence[str], defines: Mapping[str, int]) -> Iterator[str]:
    """Those outside of conditions, and where a condition holds."""
    branches: list[tuple[bool, bool]] = []  # of each #if: taken now, and whether one has been
    for line in lines:
        words = re.match(r" *#(if|elif|else|endif)\b(.*)", line)
        if not words:
            if all(taken for taken, _ in branches):
                yield line
            continue
        been = branches.pop()[1] if words[1] != "if" else False
        if words[1] != "endif":
            holds = words[1] == "else" or Expression(words[2].replace("!", " not ").strip())(
                defines
            )
            branches.append((bool(holds) and not been, been or bool(holds)))


def _look(line: str) -> str:
    """The style of a line, whose rest goes on below it."""
    start = len(line) - len(line.lstrip()) + MORE
    return f"display:block;padding:0 .6em 0 {start + 1}ch;text-indent:-{start}ch;"


def _dimmed(line: str) -> str:
    """HTML of a line, its comment paler."""
    return COMMENT.sub(r'<span style="opacity:.75">\1</span>', html.escape(line)) or "&nbsp;"
