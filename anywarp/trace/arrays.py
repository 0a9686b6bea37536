"""What CUDA source calls a byte address: `tile_a[3][17]`.

The PTX has the names of arrays and their sizes; extents and element types stand in the source.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from typing import NamedTuple

import numpy as np

SCALARS = {  # kind and bytes
    ("float", 4): "float",
    ("float", 8): "double",
    ("half", 2): "half __half",
    ("bfloat16", 2): "nv_bfloat16 __nv_bfloat16",
    ("int", 1): "bool char uchar int8_t uint8_t",
    ("int", 2): "short ushort int16_t uint16_t",
    ("int", 4): "int uint unsigned int32_t uint32_t",
    ("int", 8): "longlong ulonglong int64_t uint64_t size_t ptrdiff_t intptr_t uintptr_t",
}
VECTORS = "float double char uchar short ushort int uint longlong ulonglong".split()
# Name -> kind, bytes of a component, how many there are.
TYPES = {name: (*what, 1) for what, names in SCALARS.items() for name in names.split()}
TYPES |= {f"{name}{n}": (*TYPES[name][:2], n) for name in VECTORS for n in (1, 2, 3, 4)}
TYPES |= {"half2": ("half", 2, 2), "__half2": ("half", 2, 2), "long long": ("int", 8, 1)}
TYPES |= dict.fromkeys(("long", "ulong"), ("int", np.dtype("l").itemsize, 1))
TYPES |= dict.fromkeys(("nv_bfloat162", "__nv_bfloat162"), ("bfloat16", 2, 2))
DECLARATION = re.compile(
    rf"\b({'|'.join(TYPES)}|(?<=__shared__ )\w+)\s+"
    r"((?:\w+\s*(?:\[[^\];]*\]\s*)*,\s*)*)"
    r"(\w+)\s*((?:\[[^\];]*\]\s*)+)"
)


class Shape(NamedTuple):
    """An array's extents, outermost first, and what an element is."""

    extents: tuple[int | None, ...]
    element: int  # bytes; 0 where the declared type does not tell
    component: int = 0  # bytes of .x of a vector type, else 0


def index_text(name: str, offset: int, shape: Shape | None) -> str:
    """The element at a byte offset, which may lie outside the array: the first index then says
    by how much. Without a shape, the name and the offset."""
    if shape is None or not shape.extents or not all(shape.extents[1:]):
        return f"{name} + {offset} bytes"
    index, rest = divmod(offset, shape.element)
    parts = []
    for extent in reversed(shape.extents[1:]):
        index, part = divmod(index, extent or 1)
        parts.append(part)
    text = name + "".join(f"[{part}]" for part in (index, *reversed(parts)))
    if rest and shape.component:
        component, rest = divmod(rest, shape.component)
        text += "." + "xyzw"[component]
    return text + (f" + {rest} bytes" if rest else "")


def array_shapes(source: str, sizes: dict[str, int]) -> dict[str, Shape]:
    """The shapes of the arrays that the CUDA source declares with extents of known value.

    sizes: by name, the bytes that the array has in the PTX. A declaration that does not come to
    that size is another one, or was not understood; a missing or unknown outermost extent
    (`extern __shared__ float buffer[]`) is taken from it."""
    shapes: dict[str, Shape] = {}
    for name, shape in declarations(source):
        if name in sizes and name not in shapes and (fitted := fit(shape, sizes[name])):
            shapes[name] = fitted
    return shapes


def fit(shape: Shape, size: int) -> Shape | None:
    """The shape with its outermost extent filled in; None if it does not take `size` bytes."""
    outer, *inner = shape.extents
    known = [extent for extent in inner if extent]
    if len(known) < len(inner) or outer == 0:
        return None
    if not shape.element:  # of a type that only the size tells, such as T
        count = math.prod(known, start=outer) if outer else size
        if size % count or size // count not in (1, 2, 4, 8, 16):
            return None
        shape = shape._replace(element=size // count)
    count, rest = divmod(size, math.prod(known, start=shape.element))
    return shape._replace(extents=(count, *inner)) if not rest and outer in (None, count) else None


@functools.lru_cache(maxsize=16)
def declarations(source: str) -> list[tuple[str, Shape]]:
    """The arrays that the source declares, in order; extents that are not understood are None."""
    text = strip_comments(source)
    constants = definitions(text)
    arrays = []
    for match in DECLARATION.finditer(text):
        for name, brackets in re.findall(r"(\w+)\s*((?:\[[^\];]*\]\s*)+)", match[0]):
            extents = tuple(evaluate(e, constants) for e in re.findall(r"\[([^\]]*)\]", brackets))
            kind, size, count = TYPES.get(match[1], ("", 0, 1))
            component = size if count > 1 and kind in ("int", "float") else 0
            arrays.append((name, Shape(extents, size * count, component)))
    return arrays


def strip_comments(source: str) -> str:
    """Without comments and with continued lines joined."""
    source = re.sub(r"\\\n", " ", source)
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)


def definitions(text: str) -> dict[str, str]:
    """Names of integer constants and their expressions: #define, constexpr, const, enum. The
    first definition counts, as it does for `#ifndef X` / `#define X`."""
    macros = r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$"
    constants = r"\bconst(?:expr)?\s+(?:\w+\s+)*?(\w+)\s*=\s*([^;,]+)[;,]"
    values: dict[str, str] = {}
    for pattern in (macros, constants):
        for name, value in re.findall(pattern, text, re.MULTILINE):
            values.setdefault(name, value)
    return values


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def evaluate(expression: str, constants: dict[str, str]) -> int | None:
    """The value of a C expression of non-negative integers, or None if it has other things."""

    def value(node: ast.AST, depth: int) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name) if depth < 32:
                return value(parsed(constants[name]), depth + 1)
            case ast.BinOp(left=left, op=op, right=right):
                return int(_OPERATORS[type(op)](value(left, depth), value(right, depth)))
        raise KeyError

    def parsed(text: str) -> ast.AST:
        text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text.strip())
        return ast.parse(text, mode="eval").body

    try:
        return value(parsed(expression), 0)
    except (KeyError, SyntaxError, ZeroDivisionError, ValueError):
        return None
