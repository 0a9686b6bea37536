"""Make the whole book one PDF, with an outline and links, through a headless Chromium.

    python tools/pdf.py [PATH]        PATH: _build/book.pdf unless given

Jupyter Book puts all chapters on one page, with their stored outputs; Chromium prints it as
book/assets/print.css says.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
HEADLESS = "--headless --no-sandbox --disable-gpu --no-first-run".split()
HEADLESS += ["--host-resolver-rules=MAP * ~NOTFOUND"]  # nothing is loaded from the network
PATIENCE = 600  # seconds for each of the two programs
SETTLED = 120_000  # milliseconds of the page's own time, for its formulas and steppers


class Failure(Exception):
    """What went wrong, in words for the user."""


def browser() -> str:
    """The path of a Chromium or Chrome; raises Failure where there is none."""
    chosen = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if chosen is None:
        raise Failure(f"no browser on the path: one of {', '.join(BROWSERS)} is needed")
    return chosen


def run(command: list[str], what: str) -> str:
    """What a program prints; raises Failure with the end of what it said if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: not done after {PATIENCE} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise Failure(f"{what}: exit status {done.returncode}\n{said}")
    return done.stdout


def opened(chromium: str, page: Path, settled: int, *options: str) -> str:
    """What Chromium prints that opens a page, once so many milliseconds of its time have passed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        whole = [*HEADLESS, f"--user-data-dir={profile}", f"--virtual-time-budget={settled}"]
        return run([chromium, *whole, *options, page.resolve().as_uri()], "Chromium")


def single_page(source: Path, build: Path) -> Path:
    """The book as one HTML page, whose path is returned."""
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", str(source), "--builder", "singlehtml"]
    run([*command, "--path-output", str(build.parent)], "jupyter-book")
    # It is written in a folder of its own, with addresses that count from the one above.
    folder = build / "singlehtml"
    (nested,) = folder.glob("*/index.html")
    inside = nested.relative_to(folder).as_posix()
    page = folder / "book.html"
    html = nested.read_text(encoding="utf-8").replace(f'href="{inside}#', 'href="#')
    page.write_text(html, encoding="utf-8")
    return page


def print_page(chromium: str, page: Path, pdf: Path) -> None:
    """Print a page; raises Failure if nothing comes of it."""
    pdf.parent.mkdir(parents=True, exist_ok=True)
    pdf.unlink(missing_ok=True)
    printed = "--generate-pdf-document-outline", f"--print-to-pdf={pdf.resolve()}"
    opened(chromium, page, SETTLED, "--no-pdf-header-footer", *printed)
    if not pdf.exists() or not pdf.read_bytes().startswith(b"%PDF"):
        raise Failure(f"Chromium wrote no PDF to {pdf}")


def main(arguments: list[str] | None = None) -> int:
    """Make the book as one PDF; the exit status is 1 where that fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path", nargs="?", type=Path, default=BUILD / "book.pdf")
    path = parser.parse_args(arguments).path
    try:
        chromium = browser()
        print_page(chromium, single_page(ROOT, BUILD), path)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
