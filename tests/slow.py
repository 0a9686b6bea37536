"""Tests that a plain `pytest` leaves out: marked `slow`, they do again, for variants, planted
faults, tile sizes, exercises and more kernels of a kind, what others do once. `pytest -m slow`
runs them, `pytest -m ""` runs all."""

import functools
import json
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[1] / "book"
HEAVY = "16"  # from this step on, a product takes the interpreter long


def if_slow(slow: bool) -> list[pytest.MarkDecorator]:
    """The marks of a `pytest.param`."""
    return [pytest.mark.slow] if slow else []


def heavy(label: str) -> bool:
    """Whether this is the label of such a step, as "16_async_copy", of a variant of it, or the
    name of its chapter."""
    return HEAVY <= label[:2] <= "99"


@functools.cache
def code_of(notebook: str) -> str:
    """What nbval runs of a notebook: its code cells but the starters of exercises."""
    cells = json.loads((BOOK / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    run = (
        c
        for c in cells
        if c["cell_type"] == "code" and "starter" not in c["metadata"].get("tags", [])
    )
    return "\n".join("".join(cell["source"]) for cell in run)


def checked_in_its_chapter(step: str) -> bool:
    """Whether the chapter of a step checks it; `test_check` would do so again."""
    return "step.check()" in code_of(step)


def sanitized_in_its_chapter(step: str) -> bool:
    """Whether the chapter asserts that nothing is found in a step, in some shape."""
    return "assert step.sanitize(" in code_of(step)
