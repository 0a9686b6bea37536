"""What is left to do once the first cell of a notebook has found this folder.

The cell runs this file by its path, since `kernels` may be the name of another package. Afterwards
`import kernels` gives this one. Only the standard library is imported here.
"""

from __future__ import annotations

import gc
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEEDED = ("numpy", "matplotlib", "ipywidgets", "tqdm")
COMPILER = ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12")


def prepare(name: str) -> None:
    """Make this folder the one that is imported from, with what it needs.

    `name` is what the notebook calls the book. Raises RuntimeError where the notebook and this
    folder are of two editions or another `kernels` is imported already, and ModuleNotFoundError
    where packages are missing.
    """
    same_edition(name)
    come_first()
    # Kernels that are kept have millions of objects, and few become garbage: each new one would
    # soon be reason to look through them all, a fifth of the time of a chapter that has many.
    gc.set_threshold(20_000, 100, 200)
    lacking = missing(NEEDED)
    if "google.colab" in sys.modules:  # has most packages; those of a GPU only with a GPU
        install(lacking + missing(COMPILER))
    elif lacking:
        raise ModuleNotFoundError(f"the book needs more packages: %pip install {' '.join(lacking)}")


def same_edition(name: str) -> None:
    """Raise RuntimeError if this folder is of another edition than a notebook with this name."""
    cell = (ROOT / "tools" / "first_cell.py").read_text("utf-8")
    ours = re.search(r'^NAME = "([^"]*)"', cell, re.MULTILINE)
    if ours and ours[1] != name:
        raise RuntimeError(
            f"this notebook belongs to {name}, but the folder {ROOT} holds {ours[1]}: "
            "take the notebook from that folder, or move this one out of it"
        )


def come_first() -> None:
    """Put this folder first on sys.path, once; RuntimeError if another `kernels` is imported."""
    loaded = sys.modules.get("kernels")
    file = getattr(loaded, "__file__", None) or "a folder without __init__.py"
    if loaded is not None and Path(file).parent != ROOT / "kernels":
        raise RuntimeError(
            f"another package named kernels is imported, from {file}: restart the notebook's "
            "kernel, and run this cell before all others"
        )
    sys.path[:] = [str(ROOT), *(path for path in sys.path if path != str(ROOT))]


def missing(packages: tuple[str, ...]) -> list[str]:
    """Those of the packages that are not installed, with the versions that the book names."""
    known = pins(ROOT / "requirements" / "test.txt")
    return [known[package] for package in packages if package in known and not installed(package)]


def installed(package: str) -> bool:
    """Whether a package is there, in whatever version."""
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pins(path: Path) -> dict[str, str]:
    """`name==version` by name, of a file of requirements and those that it names."""
    text = path.read_text("utf-8")
    pinned = {line[1]: line[0] for line in re.finditer(r"^([\w-]+)==[\w.]+", text, re.MULTILINE)}
    for more in re.findall(r"^-r (\S+)", text, re.MULTILINE):
        pinned |= pins(path.parent / more)
    return pinned


def install(requirements: list[str]) -> None:
    """Install packages for this Python; raises RuntimeError with pip's words where it cannot."""
    if not requirements:
        return
    print("Installing", *requirements)
    command = [sys.executable, "-m", "pip", "install", "--quiet", *requirements]
    pip = subprocess.run(command, capture_output=True, text=True)
    if pip.returncode:
        raise RuntimeError(f"pip could not install {' '.join(requirements)}: {pip.stderr.strip()}")
    importlib.invalidate_caches()
