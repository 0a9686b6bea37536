"""Expressions in Python's syntax, as steps declare them: read and checked once, then evaluated."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping
from dataclasses import InitVar, dataclass
from types import CodeType
from typing import Any

ALLOWED = (
    ast.Expression,
    ast.Name,
    ast.Load,
    ast.Tuple,
    *(ast.UnaryOp, ast.USub, ast.Not),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod),
    *(ast.BoolOp, ast.And, ast.Or),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)


@dataclass(frozen=True)
class Expression:
    """An expression on numbers: call it with their values by name.

    Raises ValueError at once for anything but whole numbers, names, min(…), max(…) and + - * // %
    == != < <= > >= and or not, and for a name that is not one of `known` (None: any); and when
    called, for a name without a value and a division by zero. `text` is as given.
    """

    text: str
    known: InitVar[Collection[str] | None] = None

    def __post_init__(self, known: Collection[str] | None) -> None:
        for name in self.names:
            if known is not None and name not in known:
                raise ValueError(f"{self.text!r} has the name {name}; known are {', '.join(known)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Those that it uses."""
        return _parse(self.text)[1]

    def __call__(self, values: Mapping[str, Any]) -> Any:
        try:
            return eval(_parse(self.text)[0], FUNCTIONS, values)  # names and operators alone
        except (NameError, ZeroDivisionError, TypeError) as error:
            raise _wrong(self.text, error, values) from None


LEAST_AND_MOST = ("min", "max")
FUNCTIONS: dict[str, Any] = {"__builtins__": {}, "min": min, "max": max}


@functools.cache
def _parse(text: str) -> tuple[CodeType, tuple[str, ...]]:
    """The code of an expression, which holds nothing but what is allowed, and its names."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise _wrong(text, error) from None
    called: set[ast.AST] = set()  # the names of functions
    for node in ast.walk(tree):  # a call comes before the name in it
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) in LEAST_AND_MOST:
            if node.keywords or len(node.args) < 2:
                raise _wrong(text, ast.unparse(node))
            called.add(node.func)
        elif not isinstance(node, ALLOWED) or (
            isinstance(node, ast.Name) and node.id in LEAST_AND_MOST and node not in called
        ):
            raise _wrong(text, ast.unparse(node))
    names = (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called)
    return compile(tree, "<expression>", "eval"), tuple(dict.fromkeys(names))


def _wrong(text: str, reason: object, values: Mapping[str, Any] | None = None) -> ValueError:
    """The error to raise for an expression that cannot be read or evaluated."""
    names = f"the names {', '.join(values)}" if values else "names"
    return ValueError(
        f"cannot evaluate {text!r} ({reason}): it takes whole numbers, {names}, "
        "and + - * // % == != < <= > >= and or not, min(…) and max(…)"
    )
