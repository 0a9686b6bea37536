"""Shapes on the command line: N for M = N = K, MxNxK, or three words M N K."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence

Shape = tuple[int, int, int]
FORMS = "N for M = N = K, MxNxK or M N K, such as 64x64x8"


def shape(words: str | Sequence[str]) -> Shape:
    """ "64", "64x32x8", ["64"], ["64x32x8"] or ["64", "32", "8"]; else raises ArgumentTypeError."""
    words = [words] if isinstance(words, str) else list(words)
    parts = words[0].split("x") if len(words) == 1 else words
    if len(parts) not in (1, 3):
        raise ArgumentTypeError(f"a shape is {FORMS}, not {' '.join(words)!r}")
    M, N, K = (size(part) for part in (parts if len(parts) == 3 else 3 * parts))
    return M, N, K


def size(text: str) -> int:
    """A whole number from 1 on; else raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"a size is a whole number from 1 on, not {text!r}")
    return int(text)


def split(words: Sequence[str], is_name: Callable[[str], bool]) -> tuple[list[str], Shape | None]:
    """Names, and the shape that follows them if one does. A number with a leading zero is a name.

    Raises ArgumentTypeError for a number after names that may be either.
    """
    words = list(words)
    number = r"[1-9]\d*"
    if len(words) >= 3 and all(re.fullmatch(number, word) for word in words[-3:]):
        return words[:-3], shape(words[-3:])
    if not words or not re.fullmatch(rf"{number}(x{number})*", words[-1]):
        return words, None
    last = words[-1]
    if not is_name(last):
        return words[:-1], shape(last)
    if len(words) > 1:
        raise ArgumentTypeError(
            f"{last} may be a step or a size: write the whole name of the step, or "
            f"{last}x{last}x{last}"
        )
    return words, None
