"""What several tests share: the gpu marker and the built book."""

from __future__ import annotations

import os
import sys
import time
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
