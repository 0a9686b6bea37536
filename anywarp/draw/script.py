"""What a picture's script and its data are in a page: one <script>, with nothing to load."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any


@functools.cache
def code(path: Path) -> str:
    """A script without its comments, indentation and line ends."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(re.sub(r"(^|\s+)//.*", "", line).strip() for line in lines).strip()


def data(value: Any) -> str:
    """JSON that can stand in a <script>."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
