"""The lines of code of the packages and tools, by folder, and how many there may be.

    python tools/lines.py

Lines that are empty, or have only a comment or a docstring, do not count. The most that there may
be is `lines` in pyproject.toml, `[tool.budget]`; the exit status is 1 above it.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ("anywarp", "kernels", "tools")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
LAYOUT |= {tokenize.ENDMARKER}


def lines_of_code(text: str) -> int:
    """How many lines of a Python file hold code."""
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(code)


def by_folder(root: Path = ROOT) -> Counter[str]:
    """Lines of code by folder, two levels deep."""
    count: Counter[str] = Counter()
    for path in (path for name in COUNTED for path in (root / name).rglob("*.py")):
        folder = path.relative_to(root).parent.parts[:2]
        count["/".join(folder)] += lines_of_code(path.read_text("utf-8"))
    return count


def budget() -> int:
    """The most lines of code that there may be."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return settings["tool"]["budget"]["lines"]


def main() -> int:
    """Print the lines by folder; the exit status is 1 above the budget."""
    count = by_folder()
    for folder in sorted(count):
        print(f"{folder:24}{count[folder]:7,}")
    print(f"{'all':24}{count.total():7,}\n{'budget':24}{budget():7,}")
    return count.total() > budget()


if __name__ == "__main__":
    sys.exit(main())
