"""Building the book for a test, and what of it a notebook needs to begin."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the first cell of a notebook reads of the book, beside kernels/__init__.py.
SET_UP = ("kernels/prepare.py", "tools/first_cell.py")
SET_UP += tuple(
    f"requirements/{name}.txt"
    for name in ("base", "build", "compiler", "gpu", "many", "run", "test")
)
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"


def build_book(source: Path, output: Path) -> subprocess.CompletedProcess:
    """Build the book in `source`, which need not have tools/, with warnings as errors."""
    import yaml

    config = yaml.safe_load((source / "_config.yml").read_text(encoding="utf-8"))
    extensions = config["sphinx"]["local_extensions"]
    config["sphinx"]["local_extensions"] = dict.fromkeys(extensions, str(ROOT / "tools"))
    path = output / "config.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", source]
    command += [*"-n -W --all --keep-going".split(), "--config", path, "--path-output", output]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def build_pages(source: Path, toc: str) -> Path:
    """Build the pages in book/ of `source`, with the settings and the looks of the book, by this
    table of contents; returns the folder of what was built."""
    shutil.copy(ROOT / "_config.yml", source)
    shutil.copytree(ROOT / "book" / "assets", source / "book" / "assets")
    (source / "_toc.yml").write_text(f"format: jb-book\nroot: book/index\n{toc}")
    built = build_book(source, source)
    assert built.returncode == 0, built.stderr
    return source / "_build" / "html" / "book"
