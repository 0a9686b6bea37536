"""A Sphinx extension: notebooks are run side by side, where the build would run one after another.

It runs those whose outputs are not in the cache of jupyter-cache yet, before any page is read.
MyST-NB then finds them there. A notebook that fails is not kept, so that MyST-NB runs it again and
says what is wrong. Where there is a GPU nothing is run here: what a notebook times there would also
be what its neighbour does.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.display import status_iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from anywarp import gpu

AT_MOST = 4  # notebooks at a time: some take a gigabyte of memory


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-before-read-docs", run_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def run_notebooks(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Have the outputs of the notebooks among these documents in the cache."""
    config = env.mystnb_config
    paths = [env.doc2path(name) for name in names]
    notebooks = [str(path) for path in paths if str(path).endswith(".ipynb")]
    if config.execution_mode != "cache" or not notebooks or gpu.available():
        return
    cache = get_cache(config.execution_cache_path)
    for path in notebooks:
        cache.add_nb_to_project(path)
    executor = load_executor("local-serial", cache)

    def run(path: str) -> str:
        executor.run_and_cache(filter_uris=[path], timeout=config.execution_timeout)
        return Path(path).stem

    pool = ThreadPoolExecutor(min(AT_MOST, os.cpu_count() or 1))
    try:
        done = pool.map(run, notebooks)
        said = "running notebooks... ", "purple", len(notebooks), app.verbosity
        for _ in status_iterator(done, *said):
            pass
    finally:
        pool.shutdown(cancel_futures=True)  # who interrupts the build does not wait for the others
