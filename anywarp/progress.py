"""A progress bar for what takes long, such as a run of the interpreter; nothing of it stays."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # seconds before the bar appears


@contextmanager
def progress(what: str, unit: str = "block") -> Iterator[Callable[[int, int], None] | None]:
    """A function to be told (units done, units in all); None where nobody would see the bar, or
    tqdm, which draws it, is not installed."""
    if not watched() or importlib.util.find_spec("tqdm") is None:
        yield None
        return
    start = time.perf_counter()
    bar: Any = None

    def tell(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            if done >= total or time.perf_counter() - start < PATIENCE:
                return
            from tqdm.auto import tqdm

            bar = tqdm(total=total, initial=done, desc=what, unit=unit, leave=False)
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()


def watched() -> bool:
    """Whether somebody looks on: at a terminal, or at a notebook in a front end that can ask.

    A notebook that is executed by a program (nbclient, nbval, papermill) cannot ask, and its
    stored outputs would keep the bar.
    """
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if kernel := getattr(shell, "kernel", None):
        return bool(getattr(kernel, "_allow_stdin", False))
    return sys.stderr is not None and sys.stderr.isatty()
