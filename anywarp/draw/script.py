"""What a picture's script and its data are in a page: one <script>, with nothing to load."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .figure import figure_html


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
