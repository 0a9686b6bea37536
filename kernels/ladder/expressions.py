"""Integer expressions in Python's syntax, as steps declare them, evaluated but never run."""

from __future__ import annotations

import ast
import operator
from itertools import pairwise

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.And: all,
    ast.Or: any,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(expression: str, names: dict[str, int]) -> int | bool | tuple[int, ...]:
    """The value of `expression` with the given names; raises ValueError if it is anything else."""

    def value(node):
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return names[name]
            case ast.Tuple(elts=parts):
                return tuple(value(part) for part in parts)
            case ast.UnaryOp(op=op, operand=operand):
                return OPERATORS[type(op)](value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](value(left), value(right))
            case ast.BoolOp(op=op, values=parts):
                return OPERATORS[type(op)](value(part) for part in parts)
            case ast.Compare(left=first, ops=ops, comparators=others):
                terms = [value(part) for part in (first, *others)]
                return all(OPERATORS[type(op)](*ab) for op, ab in zip(ops, pairwise(terms)))
        raise KeyError(ast.unparse(node))

    try:
        return value(ast.parse(expression, mode="eval").body)
    except (KeyError, SyntaxError, ZeroDivisionError) as error:
        raise ValueError(
            f"cannot evaluate {expression!r} ({error}): it takes whole numbers, the names "
            f"{', '.join(names)}, and + - * // % == != < <= > >= and or not"
        ) from None
