"""PTX text -> tokens, and a cursor over them."""

from __future__ import annotations

import re

from ..errors import ParseError
from .syntax import Position

_TOKEN = re.compile(
    r"""
    \n | //[^\n]* | /\*.*?\*/
  | "[^"]*"
  | 0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16} | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
  | (?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+ | \d+U? | <<
  | \.(?:reg|param|local|shared|global|const)(?=\.)
  | [.%$A-Za-z_] (?: [\w$.%] | :: )*
  | \S
""",
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str) -> tuple[list[str], list[int]]:
    """The tokens and the line of each. What is no token of PTX is one of a single character, for
    the parser to stumble over where it stands."""
    tokens, lines, line = [], [], 1
    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
            continue
        if not token.startswith(("//", "/*")):
            tokens.append(token)
            lines.append(line)
        if token[0] in '"/':
            line += token.count("\n")
    return tokens, lines


def integer(token: str) -> int:
    """A literal in base 10, 16 (0x), 2 (0b) or 8 (a leading 0)."""
    digits = token.rstrip("U")
    return int(digits, 8 if digits[0] == "0" and digits.isdigit() else 0)


class Cursor:
    """Where the parser is: `at` counts tokens, `position` is the CUDA line of the last .loc."""

    def __init__(self, text: str) -> None:
        self.tokens, self.lines = tokenize(text)
        self.at = 0
        self.position: Position | None = None
        self.near: Position | None = None  # that of the last .loc that names a line

    def peek(self, ahead: int = 0) -> str:
        try:
            return self.tokens[self.at + ahead]
        except IndexError:  # the end
            return ""

    @property
    def line(self) -> int:
        return self.lines[min(self.at, len(self.lines) - 1)] if self.lines else 1

    def next(self) -> str:
        if not (token := self.peek()):
            raise self.error("the text ends too early")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected {token!r}, found {self.peek()!r}")

    def error(self, what: str) -> ParseError:
        cuda = f" ({self.position})" if self.position else ""
        return ParseError(f"PTX line {self.line}{cuda}: {what}")

    def integer(self) -> int:
        negative = self.accept("-")
        token = self.next()
        try:
            value = integer(token)
        except (ValueError, IndexError):
            raise self.error(f"expected an integer, found {token!r}") from None
        return -value if negative else value

    def skip_until(self, end: str) -> None:
        """Behind the next such token."""
        while self.next() != end:
            pass

    def skip_braces(self) -> None:
        self.expect("{")
        depth = 1
        while depth:
            token = self.next()
            depth += (token == "{") - (token == "}")
