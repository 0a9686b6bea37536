"""Host code: what a whole program has besides its kernels.

NVRTC compiles device code alone. Of a program that was pasted whole, what it refuses and what no
kernel can be is left out, so that the rest compiles; every line keeps its number.
"""

from __future__ import annotations

import re
from pathlib import Path

# Headers that are of use to the host alone, without those that are found: the C++ library's, which
# have no ending, the system's and those of libraries.
HEADERS = (
    r"[a-z_]+|(?P<library>(?:torch|ATen|c10|pybind11|thrust|nvtx3|opencv2|Eigen|gtest|sys)/(?!complex)[^>\"]+"
    r"|(?:helper_(?!math)|curand(?!_)|cublas|cusparse|cusolver|cufft|cudnn|nvToolsExt|cuda_?[pP]rofiler)[\w.]*"
    r"|(?:Python|nccl|omp|mpi|pthread|unistd|getopt|stdarg|fcntl|errno|ctype|signal|memory|malloc)\.h)"
)
INCLUDE = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*[<"](?:{HEADERS})[>"].*$', re.MULTILINE)
PROGRAM = re.compile(rf"\bmain\s*\(|<<<|{INCLUDE.pattern}", re.MULTILINE)
DEVICE = re.compile(r"__(global|device|constant|managed|shared)__")
VALUES = r"^[ \t]*#[ \t]*define[ \t]+\w+[ \t]+\S|\b(typedef|constexpr|enum)\b|\busing\b[^;]*="
FOR_BOTH = re.compile(rf"{DEVICE.pattern}|{VALUES}", re.MULTILINE)  # of a header: for kernels, too
# comments, strings and lines for the preprocessor
OTHER = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
SCOPE = re.compile(r"(\bnamespace\b[^;()=]*|\bextern\s*)$")  # before a brace that opens no block
LONGER = re.compile(r"\b(class|struct|union|enum)\b[^()]*$|=[^()]*$")  # ends with a semicolon


def blank(text: str) -> str:
    """As many spaces, in as many lines."""
    return re.sub(r"[^\n]", " ", text)


def declarations(source: str) -> list[tuple[int, int]]:
    """Where each declaration outside of all functions and types begins and ends."""
    code = OTHER.sub(lambda match: blank(match[0]), source)
    result, start, depth, parens, longer = [], 0, 0, 0, False
    for match in re.finditer(r"[{}();]", code):
        mark, head = match[0], code[start : match.start()]
        parens += (mark == "(") - (mark == ")")
        if mark == "{" and not depth:
            if SCOPE.search(head):
                start = match.end()
                continue
            longer = bool(LONGER.search(head))
        depth += (mark == "{") - (mark == "}" and depth > 0)
        if depth or parens or mark not in ";}" or (mark == "}" and longer):
            continue
        if head.strip():  # else the end of a namespace
            result.append((match.end() - len(code[start : match.end()].lstrip()), match.end()))
        start = match.end()
    return result


def without(source: str, filename: str, log: str) -> str:
    """The source without what NVRTC's log says is wrong with its host code: declarations that have
    no word of a GPU's, and headers, of the reader's own too; the same if there is none."""
    found = re.findall(r"^(?!__nv)(.+)\((\d+)\): (?:\w+ )?error", log, re.MULTILINE)
    wrong = {int(line) for name, line in found if name == filename}
    within = any(name != filename for name, _ in found)  # of a header, included who knows where
    included = [(match.span(), within and match["library"]) for match in INCLUDE.finditer(source)]
    for (start, end), certain in (*((span, False) for span in declarations(source)), *included):
        text = source[start:end]
        first = source.count("\n", 0, start) + 1
        hit = not wrong.isdisjoint(range(first, first + text.count("\n") + 1))
        if (hit or certain) and not DEVICE.search(text):
            source = source[:start] + blank(text) + source[end:]
    of_host = r'^(.+)\(\d+\): .*error: (?:.*open source file|namespace "std" has no member)'
    for path in map(Path, re.findall(of_host, log, re.MULTILINE)):
        if path.is_file() and not FOR_BOTH.search(path.read_text("utf-8", "replace")):
            own = rf'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?{re.escape(path.name)}".*$'
            source = re.sub(own, lambda match: blank(match[0]), source, flags=re.MULTILINE)
    return source


def left_out(source: str, less: str) -> str:
    """The lines that were left out, in words: "line 3", "lines 3, 5 to 14"."""
    pairs = enumerate(zip(source.splitlines(), less.splitlines()), start=1)
    lines = {n for n, (before, after) in pairs if before.strip() != after.strip()}
    starts, ends = (sorted(n for n in lines if n + step not in lines) for step in (-1, 1))
    spans = ", ".join(f"{a} to {b}" if a < b else f"{a}" for a, b in zip(starts, ends))
    return f"line{'s' * (len(lines) > 1)} {spans}"
