"""The page that says what of every notebook is compared, and how long it ran.

    python tools/status.py    run all notebooks, store none; write book/status.md

A test compares all but the seconds: after a notebook has changed, run it once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
import notebooks

PAGE = notebooks.BOOK / "status.md"
TEXT = Path(__file__).with_suffix(".md").read_text("utf-8")  # up to the first row of the table


def row(path: Path) -> str:
    """What the file of a notebook says, as the beginning of a row of the table. Raises ValueError
    if its cells were not executed in order."""
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        raise ValueError(f"{path.name} was not executed in order: python tools/notebooks.py run")
    tags = [set(cell.metadata.get("tags", ())) for cell in cells]
    compared = sum(not one & {"starter", "nbval-ignore-output"} for one in tags)
    starters, live = (sum(name in one for one in tags) for name in ("starter", "live"))
    return f"| [{path.stem}]({path.name}) | {len(cells)} | {compared} | {starters} | {live} | "


def total(rows: Sequence[str]) -> str:
    """The row below them, with the sums of their counts."""
    counts = [[int(cell) for cell in one.split(" | ")[1:-1]] for one in rows]
    return f"| all {len(rows)} | {' | '.join(str(sum(column)) for column in zip(*counts))} | "


def seconds(path: Path) -> float:
    """How long a run of a notebook takes, with the start of its kernel."""
    print(path)
    start = time.perf_counter()
    notebooks.executed(path)
    return time.perf_counter() - start


def main() -> None:
    """Write the page anew."""
    paths = notebooks.notebooks()
    rows = [row(path) for path in paths]
    took = [seconds(path) for path in paths]
    day, version = time.strftime("%Y-%m-%d"), sys.version.split()[0]
    machine = f"{os.cpu_count()} cores, {day}, Python {version}"
    table = zip([*rows, total(rows)], [*took, sum(took)])
    lines = "".join(f"{begin}{each:.1f} |\n" for begin, each in table)
    PAGE.write_text(TEXT.format(machine=machine) + lines, encoding="utf-8")


if __name__ == "__main__":
    main()
