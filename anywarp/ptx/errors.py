"""What can go wrong while PTX is read or run, with the place where it did."""

from __future__ import annotations

from typing import Any

from .aliases import Extent


def thread_name(number: int, thread: int, grid: Extent, block: Extent) -> str:
    """The coordinates of a thread, given the linear numbers of its block and of itself."""
    x, y, _ = block
    i, j, _ = grid
    n, t = int(number), int(thread)
    return (
        f"block ({n % i}, {n // i % j}, {n // (i * j)}), "
        f"thread ({t % x}, {t // x % y}, {t // (x * y)})"
    )


class PTXError(RuntimeError):
    """Base of all errors of the interpreter.

    Attributes: `line`, the PTX line (1-based) or None; `source`, the CUDA position as a
    `syntax.Position` or None; `thread`, the thread's coordinates as text or None.
    """

    def __init__(self, message: str, *, instruction: Any = None, thread: str | None = None) -> None:
        self.line = getattr(instruction, "line", None)
        self.source = getattr(instruction, "position", None)
        self.thread = thread
        where = []
        if self.source is not None and self.source.file != "PTX":
            where.append(str(self.source))
        if self.line is not None:
            where.append(f"PTX line {self.line}: {instruction.text}")
        if thread is not None:
            where.append(thread)
        super().__init__("\n  at ".join([message, *where]))


class ParseError(PTXError):
    """The text is not PTX that this parser reads."""


class UnknownOpcode(PTXError):
    """An instruction, modifier or special register that the interpreter does not have."""


class MemoryFault(PTXError):
    """An access outside every allocation, or one that is not aligned to its width."""


class Deadlock(PTXError):
    """Threads wait at a barrier that the others can no longer reach."""


class StepLimit(PTXError):
    """The run does not come to an end, as far as can be told."""


class Endless(StepLimit, Deadlock):
    """Threads go round in a loop that nobody is left to end."""
