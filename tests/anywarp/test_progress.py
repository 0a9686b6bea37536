"""The progress bar: only where somebody looks on, only after a while, and gone at the end."""

import io
import sys
import types

import numpy as np
import pytest

from anywarp import progress
from anywarp.kernel import Kernel


class Terminal(io.StringIO):
    def isatty(self):
        return True


def watch(monkeypatch) -> Terminal:
    """To be called in the test: pytest has a stderr of its own for each of its phases."""
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def shown(terminal) -> str:
    return terminal.getvalue()


@pytest.mark.parametrize("patience, done", [(2.0, range(1, 6)), (0.0, [5])])
def test_a_short_run_or_the_last_block_shows_nothing(monkeypatch, patience, done):
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with progress.progress("f") as tell:
        for n in done:
            tell(n, 5)
    assert shown(terminal) == ""


def test_a_long_run_shows_a_bar_and_leaves_none(monkeypatch):
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress("reduce") as tell:
        for n in range(1, 4):
            tell(n, 4)
        assert "reduce" in shown(terminal) and "1/4" in shown(terminal)
        tell(4, 4)
    assert shown(terminal).endswith("\r") and not shown(terminal).split("\r")[-2].strip()


def test_a_run_that_fails_leaves_none_either(monkeypatch):
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with pytest.raises(KeyError), progress.progress("f") as tell:
        tell(1, 4)
        raise KeyError
    assert not shown(terminal).split("\r")[-2].strip()


def test_nobody_looks_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress("f") as tell:
        assert tell is None
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.watched()


@pytest.mark.parametrize("asks", [True, False])
def test_notebooks_that_a_program_executes_have_none(monkeypatch, asks):
    shell = types.SimpleNamespace(kernel=types.SimpleNamespace(_allow_stdin=asks))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert progress.watched() is asks


def test_a_kernel_says_nothing_here(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    x = np.zeros(64, np.float32)
    source = 'extern "C" __global__ void f(float* x) { x[blockIdx.x] = 1; }'
    Kernel(source, "f")(64, 1, (x,), "interpreter")
    assert x.all() and capfd.readouterr() == ("", "")
