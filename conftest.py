"""The notebooks, and the solutions of their exercises, run as for a reader without a compiler.

So what asks for a compilation that does not come with the book fails; `python tools/compiled.py`
adds it. Where there is a GPU, or ANYWARP_NVRTC names an NVRTC, that NVRTC compiles.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# There is a process for each core: threads of NumPy's products would wait for one another. It is
# read when NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Each of many processes would compile all modules for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Pages show the records of the package, whatever this user has measured.
os.environ.setdefault("SGEMM_RECORDS", "none")
# What is expected is NVRTC's; tests of clang ask for it.
os.environ.setdefault("ANYWARP_COMPILER", "nvrtc")

from anywarp import build, gpu
from anywarp.compile import nvrtc


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """nbval starts the kernel of a notebook, which inherits the variable, with its first cell."""
    of_the_book = item.path.suffix == ".ipynb" or item.path.name == "test_exercises.py"
    if not of_the_book or gpu.available() or nvrtc.named():
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(nvrtc.CHOICE, "none")
        forget()
        try:
            return (yield)
        finally:
            forget()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the starters of exercises to tests/test_exercises.py, which runs them with their
    solutions; no other cell uses what they define."""
    config.hook.pytest_deselected(items=[item for item in items if is_starter(item)])
    items[:] = [item for item in items if not is_starter(item)]
    for item in items:
        if item.path.suffix == ".ipynb":
            compare_text(item)


def compare_text(item: pytest.Item) -> None:
    """Have nbval compare what a cell says in words: another version of matplotlib draws a chart
    with other numbers, but its caption has the same. With a GPU, a cell tagged `live` has the
    reader's own in it; what one tagged `compiler` says is of the book's NVRTC alone."""
    item.parent.skip_compare += ("text/html", "image/svg+xml")
    own = has_tag(item, "live") and gpu.available()
    if own or (has_tag(item, "compiler") and another_compiler()):
        item.options["check"] = False


def another_compiler() -> bool:
    """Whether the notebooks compile with an NVRTC that may make other machine code."""
    if not (gpu.available() or nvrtc.named()):
        return False
    return "=={}.{}.".format(*nvrtc.version()) not in nvrtc.WHEEL


def is_starter(item: pytest.Item) -> bool:
    """Whether this is the cell that a reader changes to solve an exercise."""
    return has_tag(item, "starter")


def has_tag(item: pytest.Item, tag: str) -> bool:
    """Whether this is a cell of a notebook that has the tag."""
    return item.path.suffix == ".ipynb" and tag in item.cell.metadata.get("tags", ())


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Iterator[int]:
    """One process more than cores: what waits for a browser or a notebook leaves one idle."""
    return (yield) + 1


def forget() -> None:
    """What this process has found and compiled."""
    nvrtc.load.cache_clear()
    build.compile.cache_clear()
