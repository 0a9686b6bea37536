"""The step of several launches in `several/`, and steps that are edits of it."""

from __future__ import annotations

from pathlib import Path

from kernels.ladder import step as ladder
from kernels.ladder.step import Step

FOLDER = Path(__file__).parent / "several"


def several(label: str = "18") -> Step:
    return ladder.step(label, FOLDER)


def changed(*pieces: tuple[str, str]) -> Step:
    """The step with pieces of its file exchanged, each of which is there once."""
    source = several().source
    for old, new in pieces:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return several().edit(source=source)
