"""The form of an instruction: its type, its flags, and the `Op` that it is decoded to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aliases import Operand
from .syntax import Instruction, Vector

DTYPES: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
DTYPES |= {"pred": np.bool_, "b128": np.dtype([("low", "u8"), ("high", "u8")])}
for _bytes in (1, 2, 4, 8):
    DTYPES |= dict.fromkeys((f"b{8 * _bytes}", f"u{8 * _bytes}"), np.dtype(f"u{_bytes}").type)
    DTYPES[f"s{8 * _bytes}"] = np.dtype(f"i{_bytes}").type
INTEGERS = {f"{kind}{bits}" for kind in "us" for bits in (16, 32, 64)}
FLOATS = {"f32", "f64"}
BITS = {"b16", "b32", "b64"}


class Unsupported(ValueError):
    """The interpreter lacks this form of the opcode."""


def refuse(wrong: object, what: Instruction | str) -> None:
    """Raise Unsupported if something is wrong with an instruction: its modifiers, or what is
    said."""
    if wrong:
        raise Unsupported(what if isinstance(what, str) else ".".join(what.modifiers))


@dataclass(frozen=True)
class Op:
    """What an instruction computes, and of which types."""

    function: Callable[..., Any]  # arrays -> an array, or a tuple of them for several destinations
    sources: tuple[Any, ...]  # NumPy type of each operand after the destination
    result: Any  # NumPy type of the result


Decoder = Callable[[Instruction], Op]


def modifiers_of(i: Instruction, types: set[str], flags: str = "") -> tuple[str, set[str]]:
    """Split `.rn.ftz.f32` into (type, flags); anything not listed is unsupported."""
    *given, kind = i.modifiers or ("",)
    unknown = set(given) - set(flags.split())
    refuse(kind not in types or unknown, ", ".join(f".{m}" for m in sorted(unknown) or [kind]))
    return kind, set(given)


def match_modifiers(i: Instruction, *known: str) -> tuple[str, ...]:
    """The modifiers; at each place one of those that are known there is needed."""
    fit = len(i.modifiers) == len(known)
    refuse(not fit or any(m not in there.split() for m, there in zip(i.modifiers, known)), i)
    return i.modifiers


def signed(kind: str) -> bool:
    """Whether an integer type has a sign."""
    return kind[0] == "s"


def bits(kind: str) -> int:
    """Bits of a type, by its name."""
    return int(kind[1:])


def elements(operand: Operand, count: int | None = None) -> tuple[Any, ...]:
    """Those of a vector, or the operand itself as the only one. Raises Unsupported if there are
    not so many as there should be."""
    parts = operand.elements if isinstance(operand, Vector) else (operand,)
    refuse(count not in (None, len(parts)), f"{len(parts)} registers where the shape has {count}")
    return parts
