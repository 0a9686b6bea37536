"""The first page of the book and README.md: what they show of the records.

    python tools/front_page.py    write the picture, the result and the table of the ladder anew

A test compares: after new timings, or a new chapter, run it once.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import kernels  # noqa: E402 (another package has this name: this folder has to come first)
from kernels.draw.records.plots import three_digits  # noqa: E402
from kernels.records import RECORDED_ON  # noqa: E402

BOOK = ROOT / "book"
PAGE, README = BOOK / "index.md", ROOT / "README.md"
INLINE, FILE = BOOK / "assets" / "ladder.html", BOOK / "assets" / "ladder.svg"
SIZE = 4096
RESULT = r"^\*\*CUDA SGEMM, from (?:.|\n)*?(?=\n\n)"  # the paragraph that begins so
TABLE = r"^\|.*\|\n(?:\|.*\|\n)+"


def result() -> str:
    """The whole climb in two sentences."""
    timings = kernels.results(RECORDED_ON)
    records = [record for step in kernels.steps() if (record := timings.find(step, SIZE))]
    best = max(records, key=lambda record: record.tflops)
    share = timings.share_of_cublas(best)
    power = kernels.experiments(RECORDED_ON)["power"]
    alone = power.share_of_cublas(power.at(best.step, SIZE))
    words = (
        f"**CUDA SGEMM, from {three_digits(records[0].tflops)} to {three_digits(best.tflops)} "
        f"TFLOPS in {records.index(best) + 1} kernels.** On an {RECORDED_ON}, the last of them "
        f"reaches **{100 * share:.0f}\u00a0%** of the speed of cuBLAS, NVIDIA's library, in turns "
        f"with it, and {100 * alone:.0f}\u00a0% each by itself, for float32 matrices of "
        f"{SIZE} × {SIZE}."
    )
    return textwrap.fill(words, 100, break_on_hyphens=False)


def title(name: str) -> str:
    """What the heading of a chapter says before the colon."""
    first = next(
        cell.source
        for cell in nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells
        if cell.cell_type == "markdown"
    )
    return first.splitlines()[0].removeprefix("# ").partition(":")[0]


def table() -> str:
    """The ladder: a row for each step that was timed, with what its header says of it."""
    timings = kernels.results(RECORDED_ON)
    lines = ["| Chapter | Idea and [kernel](kernels.md) | Before | After |", "|:--|:--|--:|--:|"]
    before = "–"
    for step in kernels.steps():
        record = timings.find(step, SIZE)
        if record is None:
            continue
        after = three_digits(record.tflops)
        name = f"[{step.id[:2]} {title(step.id)}]({step.id}.ipynb)"
        idea = f"[{step.title.partition(': ')[2]}](../kernels/cuda/{step.path.name})"
        lines.append(f"| {name} | {idea} | {before} | {after} |")
        before = after
    return "\n".join(lines) + "\n"


def picture() -> kernels.draw.Figure:
    """The ladder of recorded steps that the front page shows."""
    return kernels.draw.ladder(None, kernels.results(RECORDED_ON), SIZE)


def replaced(text: str, pattern: str, new: str) -> str:
    """The text with the pattern's one match replaced; raises ValueError if there are others."""
    text, count = re.subn(pattern, lambda _: new, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{count} matches of {pattern}")
    return text


def files() -> dict[Path, str]:
    """What each file has to hold; FILE is `picture()`, saved."""
    page, readme = (replaced(p.read_text("utf-8"), RESULT, result()) for p in (PAGE, README))
    return {
        PAGE: replaced(page, TABLE, table()),
        README: readme,
        INLINE: picture()._repr_html_() + "\n",
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    picture().save(FILE)
