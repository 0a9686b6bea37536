"""The page that says how every notebook was executed, what of it is compared, and how long it ran.

    python tools/status.py    run all notebooks, store none; write the table of book/status.md

A test compares all but the seconds: after a notebook has changed, run it once.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import nbformat
import notebooks

PAGE = notebooks.BOOK / "status.md"
MACHINE = r"(?<=seconds are one run, on ).*(?=\.\n)"
ROWS = r"^\| \[(?:.|\n)*"


def row(path: Path) -> str:
    """What the file of a notebook says, as the beginning of a row of the table."""
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    tags = [set(cell.metadata.get("tags", ())) for cell in cells]
    in_order = [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    compared = sum(not one & {"starter", "nbval-ignore-output"} for one in tags)
    live, folded = (sum(name in one for one in tags) for name in ("live", notebooks.FOLD))
    how = "nbclient, no GPU" if in_order else "not in order"
    counted = f"{how} | {len(cells)} | {compared} | {live} | {folded}"
    return f"| [{path.stem}]({path.name}) | {counted} | "


def seconds(path: Path) -> float:
    """How long a run of a notebook takes, with the start of its kernel."""
    print(path)
    start = time.perf_counter()
    notebooks.executed(path)
    return time.perf_counter() - start


def main() -> None:
    """Write machine and table of the page, whose text stays."""
    rows = [f"{row(path)}{seconds(path):.1f} |\n" for path in notebooks.notebooks()]
    day, version = time.strftime("%Y-%m-%d"), sys.version.split()[0]
    machine = f"{os.cpu_count()} cores without a GPU, {day}, Python {version}"
    text = re.sub(MACHINE, machine, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(re.sub(ROWS, "".join(rows), text, flags=re.MULTILINE), encoding="utf-8")


if __name__ == "__main__":
    main()
