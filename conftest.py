"""Under nbval, the notebooks run as for a reader without a compiler.

So a cell fails that asks for what does not come with the book; `python tools/compiled.py` adds it.
Where there is a GPU, or an NVRTC of another version than the one that made the compilations of the
book, they run with that NVRTC.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernels.run import gpu, nvrtc, shipped


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """nbval starts a notebook's kernel, which inherits the variable, with its first cell."""
    with pytest.MonkeyPatch.context() as patch:
        if item.path.suffix == ".ipynb" and not (gpu.available() or another_nvrtc()):
            patch.setenv(nvrtc.CHOICE, "none")
        return (yield)


def another_nvrtc() -> bool:
    made_by = shipped.read(next(shipped.FOLDER.iterdir())).nvrtc
    try:
        return nvrtc.version() != made_by
    except ImportError:
        return False
