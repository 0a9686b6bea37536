"""The progress bar: only where somebody looks on, only after a while, and gone at the end."""

import contextlib
import io
import re
import sys
import time
import types

import numpy as np
import pytest

from anywarp import build, progress, ptx
from anywarp.kernel import Kernel
from anywarp.ptx.machine import scheduler


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


def wait_for(condition):
    """Until it is so, at most 20 s: a clock draws the bar."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_the_bar_moves_though_nobody_tells(monkeypatch):
    """As during one long step, or while a compiler runs."""
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.01)
    with progress.progress("f"):
        wait_for(lambda: "00:01" in shown(terminal))
        assert "f: " in shown(terminal)
    before = shown(terminal)
    assert before.endswith("\r") and not before.split("\r")[-2].strip()
    time.sleep(0.05)
    assert shown(terminal) == before  # nothing goes on


def test_a_huge_grid_says_at_once_how_long_it_takes(monkeypatch):
    terminal = watch(monkeypatch)
    with progress.progress("f") as tell:
        time.sleep(0.01)
        tell(1, 5)
        assert shown(terminal) == ""  # little is left
        tell(1, 2**31 - 1)
        days = re.search(r"1/2147483647 \[00:00<(\d+):\d\d:\d\d", shown(terminal))
        assert int(days[1]) > 24


def test_one_block_counts_its_instructions(monkeypatch):
    """The note goes on within the only block."""
    notes = []
    source = """
extern "C" __global__ void f(float* x, int n)
{
    float a = threadIdx.x;
    for (int i = 0; i < n; ++i) a = a * 0.5f + x[i % 32];
    x[threadIdx.x] = a;
}"""
    kernel = Kernel(source, "f")
    monkeypatch.setattr(scheduler.Report, "EVERY", 0.0)
    run = lambda n: ptx.run(
        kernel.entry, 1, 32, [np.zeros(32, np.float32), np.int32(n)],
        progress=lambda *told: notes.append(told),
    )  # fmt: skip
    run(2000)
    counts = [int(note.split()[0].replace(",", "")) for _, _, note in notes]
    assert len(set(counts)) > 25 and counts == sorted(counts)
    assert [told[:2] for told in notes[:-1]] == [(0, 1)] * (len(notes) - 2) + [(1, 1)]


@pytest.mark.parametrize("what", ["parse", "compile", "parse constants"])
def test_what_comes_before_a_run_has_a_bar(what, monkeypatch):
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.01)
    slow = lambda function: (
        lambda *x: (wait_for(lambda: ": 00:0" in shown(terminal)), function(*x))[1]
    )
    source = f'extern "C" __global__ void f(float* x) {{ x[0] = {time.time_ns()}; }}'
    if what == "parse constants":  # which of them nobody has set, before it runs
        source = f"__constant__ float c[2];\n{source}".replace("= ", "= c[1] + ")
    if what == "compile":
        monkeypatch.setattr(build, "compiled", slow(build.compiled))
        Kernel(source, "f")
        assert "compiling kernel.cu" in shown(terminal)
    else:
        with monkeypatch.context() as quiet:
            quiet.setattr(progress, "watched", lambda: False)
            kernel = Kernel(source, "f")
        monkeypatch.setattr(ptx, "parse", slow(ptx.parse))
        args = (np.zeros(1, np.float32),)
        with contextlib.nullcontext() if what == "parse" else pytest.warns(RuntimeWarning):
            kernel(1, 1, args, "interpreter")
        assert "f: " in shown(terminal)


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
