"""Where CuPy may write, so that it can be imported when the home directory is read-only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def prepare() -> None:
    """To be called before CuPy is imported.

    CuPy makes `~/.cupy/kernel_cache`, for its own kernels, while it is imported, and cannot be
    imported where that fails: then it gets a folder for temporary files instead.
    """
    if "CUPY_CACHE_DIR" in os.environ:
        return
    try:
        (Path.home() / ".cupy" / "kernel_cache").mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        os.environ["CUPY_CACHE_DIR"] = tempfile.mkdtemp(prefix="cupy-")
