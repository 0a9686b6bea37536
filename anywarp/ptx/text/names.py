"""Names: what the source calls that which a symbol of PTX stands for."""

from __future__ import annotations

import re

# after a name: the end of a nested one, the second of that name in a function, the compiler's own
SUFFIX = r"E?(_\d+|__\d+_)?(_?\$_\d+)*"


def demangle(symbol: str, qualified: bool = False) -> str:
    """`gemm` of `_ZN2ns4gemmILi4EEEvPf`, or, qualified, `ns::gemm`; `tile_a` of the variable of a
    function `_ZZ5sgemmE6tile_a`.

    Covers what kernels, functions and their variables need of the Itanium C++ ABI. Other symbols
    come back as they are."""
    if symbol.startswith("_ZZ"):  # a function's name, E, ours
        for match in re.finditer(r"(?<=E)(?=(\d+)([A-Za-z_][\w$]*))", symbol):
            length, rest = int(match[1]), match[2]
            if len(rest) >= length and re.fullmatch(SUFFIX, rest[length:]):
                return rest[:length]
    parts: list[str] = []
    start = re.match(r"_Z(N?)[KL]?(?=\d)", symbol)
    rest = symbol[start.end() :] if start else ""
    while start and (number := re.match(r"\d+", rest)) and (start[1] or not parts):
        rest = rest[number.end() :]
        parts.append(rest[: int(number[0])])
        rest = rest[int(number[0]) :]
    return "::".join(parts if qualified else parts[-1:]) or symbol
