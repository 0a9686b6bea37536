"""A progress bar for what takes long, such as a run of the interpreter; nothing of it stays."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # seconds before the bar appears
LONG = 10.0  # and it appears at once where so many are expected
TICK = 0.5  # seconds after which it is drawn anew, whatever goes on


@contextmanager
def progress(what: str, unit: str = "block") -> Iterator[Callable[..., None] | None]:
    """A function to be told (units done, units in all, a note); None where nobody would see the
    bar, or tqdm, which draws it, is not installed. Until it is told, the bar shows the time."""
    if not watched() or importlib.util.find_spec("tqdm") is None:
        yield None
        return
    bar, over = Bar(what, unit), threading.Event()

    def tick() -> None:
        while not over.wait(TICK):
            bar.draw()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield bar.tell
    finally:
        over.set()
        ticking.join()
        bar.close()


class Bar:
    """Drawn by those who tell of progress, and by a clock, since nobody may tell for long."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit, self.start = what, unit, time.perf_counter()
        self.done, self.total, self.note = 0, 0, ""
        self.drawn: Any = None
        self.lock = threading.Lock()

    def tell(self, done: int, total: int, note: str = "") -> None:
        """So many units are done, of so many."""
        self.done, self.total, self.note = done, total, note
        self.draw()

    def draw(self) -> None:
        """Draw it, if it is time."""
        passed = time.perf_counter() - self.start
        left = passed * (self.total / self.done - 1) if self.done else 0.0
        with self.lock:
            if self.drawn is None:
                if 0 < self.total <= self.done or (passed < PATIENCE and left < LONG):
                    return
                from tqdm.auto import tqdm

                self.drawn = tqdm(desc=self.what, unit=self.unit, leave=False)
                self.drawn.start_t -= passed  # so that it can say how much time is left
            self.drawn.n, self.drawn.total = self.done, self.total or None
            self.drawn.bar_format = None if self.total else "{desc}: {elapsed}"
            self.drawn.set_postfix_str(self.note, refresh=False)
            self.drawn.refresh()

    def close(self) -> None:
        """Nothing of it stays."""
        if self.drawn is not None:
            self.drawn.close()


def watched() -> bool:
    """Whether somebody looks on: at a terminal, or at a notebook in a front end that can ask.

    A notebook that is executed by a program (nbclient, nbval, papermill) cannot ask, and its
    stored outputs would keep the bar.
    """
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if kernel := getattr(shell, "kernel", None):
        return bool(getattr(kernel, "_allow_stdin", False))
    return sys.stderr is not None and sys.stderr.isatty()
