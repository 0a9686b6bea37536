"""The notebooks, and the solutions of their exercises, run as for a reader without a compiler.

So what asks for a compilation that does not come with the book fails; `python tools/compiled.py`
adds it. Where there is a GPU, or an NVRTC of another version than the one that made the book's
compilations, that NVRTC compiles.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from kernels.run import build, gpu, nvrtc, shipped


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """nbval starts the kernel of a notebook, which inherits the variable, with its first cell."""
    of_the_book = item.path.suffix == ".ipynb" or item.path.name == "test_exercises.py"
    if not of_the_book or gpu.available() or another_nvrtc():
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(nvrtc.CHOICE, "none")
        forget()
        try:
            return (yield)
        finally:
            forget()


@functools.cache
def another_nvrtc() -> bool:
    """Than the one that made what comes with the book."""
    made_by = shipped.read(next(shipped.FOLDER.iterdir())).nvrtc
    try:
        return nvrtc.version() != made_by
    except ImportError:
        return False


def forget() -> None:
    """What this process has found and compiled."""
    nvrtc.load.cache_clear()
    build.compile.cache_clear()
