"""What CUDA source calls a kernel's parameters, and what it says their pointers lead to."""

from __future__ import annotations

import re
from typing import NamedTuple

from .arrays import TYPES, definitions, strip_comments

QUALIFIERS = re.compile(
    r"\b(const|volatile|restrict|__restrict__|__restrict|__grid_constant__|struct|register)\b"
    r"|\[\[\w+\]\]"
)


class Parameter(NamedTuple):
    """`element`: the kind ("int", "float", "half", "bfloat16") and the bytes of what a pointer
    leads to (of a component, if that is a vector); None where the source does not tell."""

    name: str
    text: str  # the type as the source has it, "const float*"
    element: tuple[str, int] | None


def parameters(source: str, kernel: str) -> list[Parameter]:
    """A kernel's parameters, in order; empty if its definition is not found, or found twice with
    different parameters. `kernel` may be a name expression such as "math::gemm<4, 8>"; a macro may
    stand for the whole list."""
    text = strip_comments(source)
    own = re.escape(kernel.partition("<")[0].rpartition("::")[2].strip())
    macros = definitions(text)
    lists = {
        re.sub(r"\s+", " ", macros.get(match[1].strip(), match[1])).strip()
        for match in re.finditer(rf"\b{own}\s*\(([^(){{}};]*)\)\s*\{{", text)
    }
    if len(lists) != 1:
        return []
    aliases = _aliases(text)
    every = [_parameter(part, aliases) for part in _split(lists.pop())]
    return [parameter for parameter in every if parameter] if all(every) else []


def parameter_names(source: str, kernel: str) -> list[str]:
    """The names of a kernel's parameters, in order; empty if its definition is not found."""
    return [parameter.name for parameter in parameters(source, kernel)]


DECLARED = r"\b__(?:constant|device|managed)__\s+([^;=(){}]*?)\b%s\s*(?:\[[^\]]*\]\s*)*([;,={])"


def variable(source: str, name: str) -> Parameter | None:
    """A `__device__` or `__constant__` variable: its type, and what a pointer to it would lead to;
    None where that is not understood, or several namespaces have one."""
    text = strip_comments(source)
    found = {match[1] for match in re.finditer(DECLARED % re.escape(name), text)}
    declared = found.pop() if len(found) == 1 else "*"
    first, _, others = declared.partition(",")
    words = re.sub(r"\b(static|extern|inline|__\w+__)\b", " ", first)
    if others:
        words = re.sub(r"\w+\s*(\[[^\]]*\]\s*)*$", "", words)  # the name of the first
    known = None if "*" in declared else _parameter(f"{words} {name}[]", _aliases(text))
    return known._replace(text=known.text[:-1]) if known and known.element else None


def initialised(source: str, name: str) -> bool:
    """Whether the source gives a `__device__` or `__constant__` variable a value."""
    found = re.finditer(DECLARED % re.escape(name), strip_comments(source))
    return any(match[2] in "={" for match in found)


def _split(text: str) -> list[str]:
    """At the commas that are not in a template's <…>."""
    parts = (part.strip() for part in re.split(r",(?![^<]*>)", text))
    return [part for part in parts if part not in ("", "void")]


def _parameter(text: str, aliases: dict[str, str | None]) -> Parameter | None:
    """One declaration; None if it is not understood."""
    match = re.search(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:=.*)?$", text)
    if match is None:
        return None
    declared = text[: match.start()].strip() + "*" * match[2].count("[")
    bare = re.sub(r"\s+", " ", declared)
    return Parameter(match[1], re.sub(r" ?\*", "*", bare), _element(declared, aliases))


def _element(declared: str, aliases: dict[str, str | None]) -> tuple[str, int] | None:
    """What a type points to, if it is a pointer to something of known size."""
    stars = 0
    for _ in range(8):  # aliases of aliases
        stars += declared.count("*")
        words = QUALIFIERS.sub(" ", declared).replace("*", " ").replace("&", " ").split()
        base = " ".join(words).removeprefix("std::").removeprefix("cuda::std::")
        if base not in aliases:
            break
        replacement = aliases[base]
        if replacement is None:
            return None
        declared = replacement
    if stars != 1:
        return None
    words = [word for word in base.split() if word not in ("signed", "unsigned")]
    if len(words) > 1:  # short int, long long int
        words = [word for word in words if word != "int"]
    kind, size, _ = TYPES.get(" ".join(words) or "int", ("", 0, 1))
    return (kind, size) if kind else None


def _aliases(text: str) -> dict[str, str | None]:
    """The names that the source gives to types; None for those of template parameters, and for
    names that have more than one meaning."""
    meanings: dict[str, set[str]] = {}
    for pattern, name, meaning in (
        (r"\btypedef\s+([\w\s:*]+?)\s*\b(\w+)\s*;", 2, 1),
        (r"\busing\s+(\w+)\s*=\s*([\w\s:*]+?)\s*;", 1, 2),
        (r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w \t:*]+?)[ \t]*$", 1, 2),
    ):
        for match in re.finditer(pattern, text, re.MULTILINE):
            meanings.setdefault(match[name], set()).add(match[meaning])
    aliases = {
        name: next(iter(each)) if len(each) == 1 else None for name, each in meanings.items()
    }
    generic = re.findall(r"\b(?:typename|class)\s*(?:\.\.\.)?\s*(\w+)", text)
    return aliases | dict.fromkeys(generic)
