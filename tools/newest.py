"""Print the requirements without their versions, for a run against the newest releases.

    python tools/newest.py 12     for CUDA 12
    python tools/newest.py 13     for CUDA 13, whose packages have other names

The builder of the pages and its theme keep their versions, for the reasons beside them, and so do
the tools that judge the text and the style of this tree.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELD = ("jupyter-book", "sphinx-book-theme", "ruff", "mypy", "codespell", "zizmor")


def requirements(path: Path) -> list[str]:
    """The lines of a file of requirements and of those that it names, without comments."""
    asked = []
    for line in path.read_text("utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            asked += requirements(path.parent / text[3:].strip())
        elif text:
            asked.append(text)
    return list(dict.fromkeys(asked))


def newest(requirement: str, cuda: str) -> str:
    """A requirement without its version, by its name for this CUDA."""
    name = re.match(r"[\w-]+", requirement)[0]
    if name in HELD:
        return requirement
    if cuda == "13":
        name = name.replace("cupy-cuda12x", "cupy-cuda13x").removesuffix("-cu12")
    marker = requirement.partition(";")[2]
    return f"{name};{marker}" if marker else name


def main(arguments: list[str]) -> int:
    """Print the requirements for the CUDA that is named; the exit status."""
    if arguments not in (["12"], ["13"]):
        print(__doc__, file=sys.stderr)
        return 2
    for requirement in requirements(ROOT / "requirements.txt"):
        print(newest(requirement, arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
