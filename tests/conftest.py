"""What several tests share: the gpu marker and the built book."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# The helpers beside the tests can be imported from every folder of tests.
HERE = Path(__file__).resolve().parent
FOLDERS = ("anywarp/draw", "anywarp/ptx", "kernels/draw", "kernels/ladder")
sys.path[:0] = [str(HERE), *(str(HERE / folder) for folder in FOLDERS)]

import browser  # noqa: E402

# They take longest, and come first, so that no process is left with one of them when the others are
# done; test_sources, which has the pages built, is far from the others that need them.
LONGEST = """
    tests/test_sources.py book/21_warpgroups.ipynb tests/test_exercises.py tests/test_corpus.py
    tests/test_front_page.py book/20_tensor_cores.ipynb book/19_machine_code.ipynb
    tests/test_browser_live.py tests/anywarp/ptx/test_deadlock.py tests/test_l1.py
    tests/anywarp/ptx/test_programs.py
    tests/kernels/ladder/test_mutations.py tests/kernels/ladder/test_check.py
    tests/kernels/measure/test_experiments.py tests/kernels/ladder/test_defines.py
    tests/anywarp/sanitizer/test_sanitizer.py tests/test_style.py
    tests/test_targets.py tests/kernels/parallel/test_processes.py
    tests/kernels/ladder/test_split_k.py
    tests/kernels/ladder/test_running.py book/16_async_copy.ipynb
    tests/kernels/ladder/test_model.py tests/test_any_gpu.py book/18_split_k.ipynb
    tests/kernels/machine/test_prove.py tests/kernels/measure/test_profiling.py
    tests/anywarp/analysis/test_folding.py tests/anywarp/ptx/test_clusters.py
    tests/anywarp/compile/test_headers.py book/12_warp_tiling.ipynb book/06_bank_conflicts.ipynb
    tests/anywarp/test_testing.py tests/anywarp/trace/test_pipe_overheads.py
    book/17_tile_space.ipynb book/interpreter.ipynb tests/anywarp/ptx/test_bulk.py
    tests/kernels/ladder/test_edit.py book/02_naive.ipynb book/23_skinny.ipynb tests/test_cli.py
    book/scoreboard.ipynb book/10_transposed_tile.ipynb tests/test_browser.py
    book/15_any_shape.ipynb tests/kernels/ladder/test_tensor_cores.py tests/test_compiled.py
    tests/kernels/ladder/test_skinny.py tests/test_browser_pictures.py
    tests/kernels/ladder/test_tile_space.py book/03_coalesced.ipynb
    book/14_double_buffering.ipynb book/07_thread_tile_1d.ipynb book/04_index_arithmetic.ipynb
    tests/test_browser_figures.py tests/kernels/ladder/test_warpgroups.py tests/test_address.py
    tests/test_book.py
""".split()

PLACES = {HERE.parent / name: place for place, name in enumerate(LONGEST)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first; skip those marked `gpu` where no GPU can be used, and say why."""
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked:
        from anywarp import gpu

        if reason := gpu.why_not():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of garbage collection, and look through all that is alive
    less often: kernels that are kept have millions of objects, and each new one would soon be
    reason to look through them all, a fifth of the time of the tests that make many."""
    gc.freeze()
    gc.set_threshold(20_000, 100, 200)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look through all that is alive once, and not again whenever pytest asks for it at the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU."""
    monkeypatch.setattr("anywarp.gpu.why_not", lambda: "there is none")


@pytest.fixture
def trap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may run: not in the interpreter, nor on a GPU."""
    for run in "anywarp.ptx.run", "anywarp.gpu.launch":
        monkeypatch.setattr(run, lambda *args, **options: pytest.fail("the kernel ran"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[browser.Browser]:
    """A tab of a headless Chromium."""
    if browser.executable() is None:
        pytest.skip("no Chromium or Chrome on the path")
    with browser.Browser() as tab:
        yield tab


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Path:
    """The folder of the built pages."""
    pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")
    from building import ROOT, build_book

    output = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # several processes, which build it once
        output = output.parent
    output = output / "book"
    done = output / "done"
    try:
        output.mkdir()  # which one process can do; Windows has no fcntl
    except FileExistsError:
        while not done.exists():
            time.sleep(0.2)
    else:
        build = build_book(ROOT, output)
        done.write_text(build.stdout[-3000:] + build.stderr[-3000:] if build.returncode else "")
    assert not done.read_text(), done.read_text()
    return output / "_build" / "html"
