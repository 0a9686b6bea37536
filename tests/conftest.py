"""What several tests share: the gpu marker and the built book."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest

# The helpers beside the tests can be imported from every folder of tests.
HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, (HERE, HERE / "draw", HERE / "ladder", HERE / "ptx"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `gpu` where no GPU can be used, and say why."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked:
        from kernels.run import gpu

        if reason := gpu.why_not():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Path:
    """The folder of the built pages."""
    pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")
    from building import ROOT, build_book

    output = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # several processes, which build it once
        output = output.parent
    output = output / "book"
    with open(output.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (output / "_build" / "html" / "index.html").exists():
            output.mkdir(exist_ok=True)
            build = build_book(ROOT, output)
            assert build.returncode == 0, build.stdout[-3000:] + build.stderr[-3000:]
    return output / "_build" / "html"
