"""What a page of the book loads to run kernels: Pyodide, NumPy and the book's own code.

    python tools/live.py [FOLDER]    fetch what is not our own by npm, by default into _live

All are checked against the sums below: these are the ones that were tried. A build of the book
takes them from there, and the pages load them from the book's own site; without them a page says
what is missing. Pyodide is under the Mozilla Public License 2.0, NumPy under the BSD license,
CodeMirror, in which a page's code is changed, under the MIT license.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "_live"
PYODIDE = "pyodide@0.25.1"
NUMPY = "@emscripten-forge/numpy@2.1.1-py311hc8e14bb-0"
CODEMIRROR = "codemirror@5.65.20"
SHA256 = {
    CODEMIRROR: "0ef6484ea4f71c28c6b3dd146349e79786762fc4b42e5b33befea6201c7fa6c8",
    PYODIDE: "d301c5b18b888ec7ad2bf616fcdd14eb36f4c9f41c513f89fcfcc3455d447a63",
    NUMPY: "822f06282c206a2d82dbcd9575f823d9051a8b8bb7e20f556e490c9b3f3da6a2",
}
DEFINE = re.compile(r"-D(\w+)=(-?\d+)")
TRANSPOSED = ("TRANS_A", "TRANS_B")  # whose factors are laid out otherwise
PACKED = "pyodide.asm.wasm"  # the largest is stored compressed: not every server does that
OF_PYODIDE = ("pyodide.js", "pyodide.asm.js", PACKED, "python_stdlib.zip", "pyodide-lock.json")
FETCHED = (*(f"{name}.gz" if name == PACKED else name for name in OF_PYODIDE), "numpy.zip")
LOADED = (*FETCHED, "book.zip")
OF_CODEMIRROR = (
    "lib/codemirror.js",
    "lib/codemirror.css",
    "mode/python/python.js",
    "addon/edit/matchbrackets.js",
)
EDITOR = tuple(Path(name).name for name in OF_CODEMIRROR)
TRIES = ROOT / "tools" / "tries.json"  # answers to exercises: see README.md
UNUSED = re.compile(r"/(tests|f2py|distutils|_pyinstaller|include)/|\.(pyi|a|h)$")  # of NumPy
PACKAGES = ("anywarp", "kernels")
TEXT = {".py", ".json", ".cu", ".cuh", ".h", ".js", ""}  # what of them is needed
COMPILED = "kernels/compiled"


def fetch(folder: Path = FOLDER) -> None:
    """Put Pyodide, NumPy and CodeMirror into a folder. Raises OSError where npm cannot, ValueError
    for what is not what was tried."""
    folder.mkdir(parents=True, exist_ok=True)
    pyodide = unpacked(packed(PYODIDE))
    for name, served in zip(OF_PYODIDE, FETCHED):
        content = pyodide[f"package/{name}"]
        (folder / served).write_bytes(
            gzip.compress(content, mtime=0) if name == PACKED else content
        )
    editor = unpacked(packed(CODEMIRROR))
    for name, served in zip(OF_CODEMIRROR, EDITOR):
        (folder / served).write_bytes(editor[f"package/{name}"])
    files = unpacked(packed(NUMPY))
    files = unpacked(next(data for name, data in files.items() if name.endswith(".tar.gz")))
    numpy = {
        name.partition("site-packages/")[2]: data
        for name, data in files.items()
        if "site-packages/numpy" in name and not UNUSED.search(name)
    }
    (folder / "numpy.zip").write_bytes(zipped(numpy))


def packed(package: str) -> bytes:
    """A package of npm, as it is published."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError(f"there is no npm, which fetches {package}")
    with tempfile.TemporaryDirectory() as where:
        command = [npm, "pack", "--silent", "--pack-destination", where, package]
        done = subprocess.run(command, capture_output=True, text=True, cwd=where)
        if done.returncode:
            raise OSError(f"npm cannot fetch {package}: {done.stderr.strip()}")
        content = next(Path(where).glob("*.tgz")).read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256[package]:
        raise ValueError(f"{package} is not the one that was tried: another SHA-256")
    return content


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of a tar archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = ((one.name, tar.extractfile(one)) for one in tar)
        return {name: file.read() for name, file in found if file is not None}


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive: the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return made.getvalue()


def code() -> dict[str, bytes]:
    """The book's packages, but for what is compiled, which a page loads one by one."""
    files = (
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix in TEXT
    )
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}


def grid() -> dict[str, list[str]]:
    """By the names of steps: the labels of the variants that come compiled, the step first."""
    sys.path.insert(0, str(ROOT))
    import kernels  # here, so that what is fetched needs Python alone
    from anywarp.compile import store

    labels: dict[str, set[str]] = defaultdict(set)
    by_name = {step.id: step for step in kernels.steps()}
    for path in (ROOT / COMPILED).glob("*.tar.bz2"):
        recipe = store.read(path.read_bytes()).recipe
        step = by_name.get(Path(recipe.filename).stem)
        if step is not None and step.source == recipe.source:
            given = dict(DEFINE.findall(" ".join(recipe.options)))
            defines = {name: int(given[name]) for name in step.defines}
            if not any(defines.get(name) for name in TRANSPOSED):
                labels[step.id].add(step.define(**defines).label)
    return {name: sorted(labels[name], key=lambda text: (text != name, text)) for name in by_name}


def install(static: Path, folder: Path = FOLDER) -> int:
    """Put what pages load, from this folder, into `live` of a built book's static files. The bytes
    that a page loads before it runs something; none where Pyodide and NumPy are not there."""
    if not all((folder / name).is_file() for name in (*FETCHED, *EDITOR)):
        return 0
    live = static / "live"
    live.mkdir(parents=True, exist_ok=True)
    for name in (*FETCHED, *EDITOR):  # and nothing else that lies there
        shutil.copy(folder / name, live)
    (live / "book.zip").write_bytes(zipped(code()))
    shutil.copytree(ROOT / COMPILED, live / "compiled", dirs_exist_ok=True)
    compiled = sorted(path.name for path in (ROOT / COMPILED).glob("*.tar.bz2"))
    sizes = {name: (live / name).stat().st_size for name in LOADED}
    about = json.dumps({"bytes": sizes, "compiled": compiled})
    (live / "files.json").write_text(about, encoding="utf-8")
    return sum(sizes.values())


def main() -> int:
    """Fetch what a build of the book takes; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    try:
        fetch(parser.parse_args().folder)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
