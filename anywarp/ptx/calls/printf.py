"""What the device's printf writes: a format of C and the bytes of the arguments -> text.

CUDA C++ Programming Guide, "Formatted Output": the arguments lie one after another, each at a
multiple of its size; float is passed as double and everything below int as int.
"""

from __future__ import annotations

import re
import struct
from typing import Any

_SPECIFIER = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?(?P<dot>))?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[diouxXcsfFeEgGaAp%])"
)
LONG = ("l", "ll", "j", "z", "t")


def formatted(template: str, address: int, bytes_at: Any, string_at: Any) -> str:
    """`bytes_at(address, size)` gives bytes of memory, `string_at(address)` a C string. address: of
    the arguments, a multiple of 8."""

    def take(kind: str) -> Any:
        nonlocal address
        size = struct.calcsize(kind)
        address = -(-address // size) * size
        (value,) = struct.unpack("<" + kind, bytes_at(address, size))
        address += size
        return value

    def replaced(match: Any) -> str:
        kind, flags = match["kind"], match["flags"]
        if kind == "%":
            return "%"
        width = take("i") if match["width"] == "*" else int(match["width"] or 0)
        if width < 0:
            flags, width = flags + "-", -width
        precision = None
        if match["dot"] is not None:
            precision = take("i") if match["precision"] == "*" else int(match["precision"] or 0)
            precision = None if precision < 0 else precision
        wide = match["length"] in LONG
        if kind in "di":
            digits = number(take("q" if wide else "i"), "d", flags, precision)
        elif kind in "ouxX":
            digits = number(take("Q" if wide else "I"), kind.replace("u", "d"), flags, precision)
        elif kind == "c":
            digits = chr(take("i") & 0xFF)
        elif kind == "s":
            digits = string_at(take("Q"))[:precision]
        elif kind == "p":
            digits = f"{take('Q'):#x}"
        else:
            digits = real(take("d"), kind, flags, precision)
        return padded(digits, kind, flags, width, precision)

    return _SPECIFIER.sub(replaced, template)


def number(value: int, kind: str, flags: str, precision: int | None) -> str:
    """An integer; the precision is its least count of digits."""
    digits = f"{abs(value):{kind}}".rjust(precision or 0, "0")
    if precision == 0 and value == 0:
        digits = ""
    if "#" in flags and kind in "xX" and value:
        digits = "0" + kind + digits
    elif "#" in flags and kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    return sign(value < 0, flags if kind == "d" else "") + digits


def real(value: float, kind: str, flags: str, precision: int | None) -> str:
    """A floating-point number, without its padding; %a gives all digits, whatever its precision."""
    if kind in "aA":
        digits = re.sub(r"\.?0*(?=p)", "", abs(value).hex())  # C leaves zeros at the end out
    else:
        alternate = "#" if "#" in flags else ""
        digits = f"%{alternate}.{6 if precision is None else precision}{kind}" % abs(value)
    digits = digits.upper() if kind.isupper() else digits
    negative = struct.pack("<d", value)[7] & 0x80 != 0
    return sign(negative, flags) + digits


def sign(negative: bool, flags: str) -> str:
    """The sign of a number, as the flags want it."""
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def padded(text: str, kind: str, flags: str, width: int, precision: int | None) -> str:
    """The text at its width, with blanks or zeros."""
    if "-" in flags:
        return text.ljust(width)
    zeros = "0" in flags and kind not in "csp" and text[-1:].isalnum()
    exact = kind in "diouxX" and precision is not None
    if exact or not zeros or text.endswith(("nan", "inf", "NAN", "INF")):
        return text.rjust(width)
    head = text[: len(text) - len(re.sub(r"^[-+ ]?(0[xX])?", "", text))]
    return head + text[len(head) :].rjust(width - len(head), "0")
