"""A version of your own: a step's file with something changed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from .source import Source, lines_of_regions, parse

Value = str | int | float | Sequence[str]


def edited(
    file: Source,
    region: str | None,
    code: str | None,
    source: str | None,
    directives: Mapping[str, Value],
) -> Source:
    """The file with other lines in a region, another text, or other directives: see `Step.edit`.

    Raises ValueError for a region or directive that there is not.
    """
    if (region is None) != (code is None):
        raise ValueError("region and code go together: which lines, and what stands there")
    if region is not None and source is not None:
        raise ValueError("give either a region and its code, or a whole source")
    given: dict[str, Sequence[str]]
    given = {name.replace("_", " "): _lines(value) for name, value in directives.items()}
    if source is None:
        text = file.text
        if region is not None and code is not None:
            text = _replaced(text, region, code)
        given = {**file.given, **given}
    else:
        text = textwrap.dedent(source).strip("\n") + "\n"
        if not re.search(r"^// *(block|launch):", text, re.MULTILINE):
            kept = file.launch_lines()
            if "block" in given or "launch" in given:
                kept = {x: kept[x] for x in ("arguments", "workspace", "tensor map") if x in kept}
            given = {**kept, **given}
    name = file.path.stem.removesuffix(" edited") + " edited.cu"
    return parse(file.path.with_name(name), text, given)


def _replaced(text: str, region: str, code: str) -> str:
    """The text with other lines in a region, indented as its marker is."""
    lines = text.splitlines()
    first, end = lines_of_regions("", text)[region]
    marker = lines[first - 1]
    margin = marker[: len(marker) - len(marker.lstrip())]
    new = textwrap.indent(textwrap.dedent(code).strip("\n"), margin).splitlines()
    return "\n".join([*lines[:first], *new, *lines[end:]]) + "\n"


def _lines(value: Value) -> list[str]:
    """The lines of a directive."""
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else [str(value)]
