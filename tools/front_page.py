"""The first page of the book, README.md and the list of kernels: what they show of the records.

    python tools/front_page.py    write the picture, the result and the tables of the ladder anew

A test compares: after new timings, or a new chapter, run it once.
"""

from __future__ import annotations

import functools
import re
import sys
import textwrap
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import kernels  # noqa: E402 (another package has this name: this folder has to come first)
from kernels.analysis import sm_limits  # noqa: E402
from kernels.draw.records.ladder import timed  # noqa: E402
from kernels.draw.records.limits import TRACED  # noqa: E402
from kernels.draw.records.plots import three_digits  # noqa: E402
from kernels.records import RECORDED_ON, SAME_SM, experiments, stalls  # noqa: E402

BOOK = ROOT / "book"
PAGE, README, KERNELS = BOOK / "index.md", ROOT / "README.md", BOOK / "kernels.md"
INLINE, FILE = BOOK / "assets" / "ladder.html", BOOK / "assets" / "ladder.svg"
SIZE = 4096
RESULT = r"^\*\*CUDA SGEMM, from (?:.|\n)*?(?=\n\n)"  # the paragraph that begins so
TABLE = r"^\|.*\|\n(?:\|.*\|\n)+"


def steps() -> list[kernels.ladder.step.Step]:
    """Those that were timed on an H200."""
    timings = kernels.results(RECORDED_ON)
    return [step for step in kernels.steps() if timings.find(step, SIZE)]


def result() -> str:
    """The whole climb in a paragraph: the fastest steps in float32 and on tensor cores."""
    best = {s.tensor_cores: s for s in sorted(steps(), key=lambda s: timed(s, SIZE).tflops)}
    records = [timed(step, SIZE) for step in (steps()[0], best[False], best[True])]
    first, plain, tensor = (three_digits(record.tflops) for record in records)
    alone = experiments(SAME_SM)["24 alone"]
    halves = alone.at(kernels.step("24"), SIZE)
    halves_share = 100 * alone.at("cublas", SIZE).ms / halves.ms
    shares = [f"{100 * record.cublas_ms / record.ms:.0f}\u00a0%" for record in records]
    words = (
        f"**CUDA SGEMM, from {first} to {plain} TFLOPS: a float32 product at {SIZE} × {SIZE} on an "
        f"{RECORDED_ON}, one idea in each chapter, to {shares[1]} of NVIDIA's cuBLAS FP32.** On "
        f"tensor cores, timed alone, three BF16 numbers for each float32: {tensor} TFLOPS, "
        f"{shares[2]}; two of FP16, on an H100: {three_digits(halves.tflops)} TFLOPS, "
        f"{halves_share:.0f}\u00a0%."
    )
    return textwrap.fill(words, 100, break_on_hyphens=False)


def title(name: str) -> str:
    """What the heading of a chapter says before the colon."""
    first = nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells[0].source
    return first.splitlines()[0].removeprefix("# ").partition(":")[0]


@functools.cache
def limit(step: kernels.ladder.step.Step) -> str:
    """The largest limit of an SM for its FMAs, as counted, and its share of the cycles that these
    took; those on tensor cores have others."""
    if step.tensor_cores:
        return "–"
    counted = stalls(RECORDED_ON)["steps"][step.label]
    each = sm_limits.limits(counted, step.trace(*TRACED, keep=()))
    names = " and ".join(name for name, value in each.items() if value > 0.99 * max(each.values()))
    return f"{names}, {100 * max(each.values()) / sm_limits.cycles(counted):.0f}\u00a0%"


def ladder() -> str:
    """The first page's table: a row for each step, with what its header says."""
    lines = ["| Chapter | Idea and [kernel](kernels.md) | TFLOPS | Limit |", "|:--|:--|--:|:--|"]
    for step in kernels.steps():
        name = f"[{step.id[:2]} {title(step.id)}]({step.id}.ipynb)"
        lines.append(f"| {name} | {kernel(step, idea(step))} | {rate(step)} | {limit(step)} |")
    return "\n".join(lines) + "\n"


def listed() -> str:
    """The table of the kernels, each by the name in its header, with its chapter."""
    lines = ["| Chapter | Kernel | What is new | TFLOPS |", "|:--|:--|:--|--:|"]
    for step in kernels.steps():
        chapter, name = f"[{step.id[:2]}]({step.id}.ipynb)", step.title.partition(": ")[0]
        lines.append(f"| {chapter} | {kernel(step, name)} | {idea(step)} | {rate(step)} |")
    return "\n".join(lines) + "\n"


def idea(step: kernels.ladder.step.Step) -> str:
    """What is new in a step, as its header says."""
    return str(step.title.partition(": ")[2])


def kernel(step: kernels.ladder.step.Step, words: str) -> str:
    """The words, as a link to a step's file."""
    return f"[{words}](../kernels/cuda/{step.path.name})"


def rate(step: kernels.ladder.step.Step) -> str:
    """The TFLOPS of a step at SIZE; of one that no H200 has timed, on an H100."""
    try:
        return three_digits(timed(step, SIZE).tflops)
    except ValueError:
        alone = experiments(SAME_SM)[f"{step.number} alone"]
        return f"{three_digits(alone.at(step, SIZE).tflops)} (H100)"


def replaced(text: str, pattern: str, new: str) -> str:
    """The text with the pattern's one match replaced; raises ValueError if there are others."""
    text, count = re.subn(pattern, lambda _: new, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{count} matches of {pattern}")
    return text


def files() -> dict[Path, str]:
    """What each file has to hold; FILE is the ladder, saved."""
    page, readme = (replaced(p.read_text("utf-8"), RESULT, result()) for p in (PAGE, README))
    return {
        PAGE: replaced(page, TABLE, ladder()),
        KERNELS: replaced(KERNELS.read_text("utf-8"), TABLE, listed()),
        README: readme,
        INLINE: kernels.draw.ladder(size=SIZE)._repr_html_() + "\n",
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    kernels.draw.ladder(size=SIZE).save(FILE)
