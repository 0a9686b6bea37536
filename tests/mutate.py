"""Small faults in kernels/, one at a time, and which of them no test notices.

    python -m tests.mutate --count 200 --seed 1 --only kernels/ptx --jobs 2

Each mutant is one change in the body of a function (tests/mutants.py), made in a copy of the
tree. The tests of the folder that
mirrors the module's run first, those that killed a mutant nearby before the others; then all
others but notebooks, book and browser. What survives is printed with its place and difference.

Mutants that compute the same as the original are listed, with the reason, in
tests/mutate_equivalent.txt: the path of the file, the lines taken away (-) and put in (+), a
reason (=), and an empty line. They are left out.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants import Mutant, another, sites

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("mutate_equivalent.txt")
LEFT_OUT = (
    *("test_notebooks", "test_book", "test_mutate"),
    *("test_browser", "test_browser_figures", "test_browser_pictures", "test_browser_variants"),
    "test_sources",
)
COMMANDS = {
    f"kernels/command/{x}.py" for x in ("looking", "recording", "shapes", "timing", "words")
}
OWN = dict.fromkeys(("kernels/__main__.py", *COMMANDS), "tests/test_cli.py")
OWN["kernels/command/targets.py"] = "tests/test_targets.py"
MEMORY = 16 << 30  # bytes of address space: a loop that never ends must not take the machine along
RUN = (
    "import os, resource, sys, pytest; os.nice(5); "
    f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); "
    "sys.exit(pytest.main(sys.argv[1:]))"
)
# without plugins, which take longer to load than most tests to run
OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-o", "addopts=")


# ---------------------------------------------------------------------- choosing mutants


def equivalents(text: str) -> set[tuple[str, tuple[str, ...]]]:
    """(path, difference) of the mutants listed by hand, without indentation. Raises ValueError
    for one without a reason."""
    found = set()
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for part in filter(None, re.split(r"\n\s*\n", text.strip())):
        path, *lines = part.splitlines()
        if not any(line.startswith("=") and line[1:].strip() for line in lines):
            raise ValueError(f"{EQUIVALENT.name}: no reason (= …) is given for a mutant of {path}")
        found.add((path.strip(), _stripped(line for line in lines if line[0] in "-+")))
    return found


def _stripped(lines) -> tuple[str, ...]:
    return tuple(line[0] + line[1:].strip() for line in lines)


def chosen(root: Path, only: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` of all mutants of the files below `only`, the same ones for the same seed."""
    files = sorted(
        {
            path
            for name in only
            for path in ([root / name] if name.endswith(".py") else (root / name).rglob("*.py"))
        }
    )
    if not files:
        raise ValueError(f"there is no Python file below {', '.join(only)}")
    left_out = equivalents(EQUIVALENT.read_text(encoding="utf-8")) if EQUIVALENT.exists() else set()
    sources = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    every = [mutant for path, source in sources.items() for mutant in sites(path, source)]
    random.Random(seed).shuffle(every)
    found: list[Mutant] = []
    for mutant in every:
        source = sources[mutant.path]
        if len(found) < count and another(mutant, source):
            if (mutant.path, _stripped(mutant.difference(source))) not in left_out:
                found.append(mutant)
    return found


# ---------------------------------------------------------------------- running tests


def near(path: str, root: Path = ROOT) -> list[str]:
    """The test files that mirror a module, its own first."""
    if path in OWN:
        return [OWN[path]]
    folder = root / "tests" / Path(path).parent
    while not any(folder.glob("test_*.py")):  # several rooms may share a folder of tests
        folder = folder.parent
    files = sorted(folder.glob("test_*.py"))
    own = f"test_{Path(path).stem}"
    names = [f.relative_to(root).as_posix() for f in files if f.stem not in LEFT_OUT]
    return sorted(names, key=lambda name: own not in name)


def others(root: Path, first: Sequence[str]) -> list[str]:
    """All other test files, but those of notebooks, book and browser."""
    files = sorted((root / "tests").rglob("test_*.py"))
    names = [f.relative_to(root).as_posix() for f in files if f.stem not in LEFT_OUT]
    return [name for name in names if name not in first]


class Verdict(NamedTuple):
    killed: bool
    by: str = ""  # the test, or "time"


def run_tests(tree: Path, tests: Sequence[str], limit: float | None) -> Verdict:
    """Run tests in a tree until one fails. Raises RuntimeError if pytest cannot."""
    environment = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(tree),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *OPTIONS, *tests],
        cwd=tree, env=environment, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Verdict(True, "time")
    if process.returncode in (0, 5):
        return Verdict(False)
    if process.returncode == 4 and any("::" in test for test in tests):  # its name has changed
        return run_tests(tree, [test for test in tests if "::" not in test], limit)
    if process.returncode == 4:
        raise RuntimeError(f"pytest cannot run {' '.join(tests)}: {said[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.*?)?)(?: - .*)?$", said, re.MULTILINE)
    return Verdict(True, failed[1] if failed else "collection")


class Runner:
    """Judges mutants in copies of the tree, several at a time; knows which test killed which."""

    def __init__(self, root: Path, folder: Path, jobs: int, everything: bool):
        self.everything = everything
        self.kills: list[tuple[Mutant, str]] = []
        self.limits: dict[tuple[str, ...], float] = {}
        self.lock = threading.Lock()
        self.trees: queue.Queue[Path] = queue.Queue()
        for number in range(jobs):
            tree = folder / str(number)
            copy(root, tree)
            self.trees.put(tree)

    def limit(self, tree: Path, tests: Sequence[str]) -> float:
        """Seconds that these tests may take: three times what they do in the sound tree, in
        which they have to pass."""
        key = tuple(sorted(tests))
        with self.lock:
            if key not in self.limits:
                begin = time.perf_counter()
                if (verdict := run_tests(tree, tests, None)).killed:
                    raise RuntimeError(f"{verdict.by} fails without any mutant")
                self.limits[key] = 10 + 3 * (time.perf_counter() - begin)
            return self.limits[key]

    def judge(self, mutant: Mutant) -> Verdict:
        tree = self.trees.get()
        try:
            first = near(mutant.path, tree)
            rest = others(tree, first) if self.everything else []
            verdict = Verdict(False)
            for tests in filter(None, (first, rest)):
                limit = self.limit(tree, tests)
                with changed(tree, mutant):
                    verdict = run_tests(tree, self.ordered(mutant, tests), limit)
                if verdict.killed:
                    break
        finally:
            self.trees.put(tree)
        if "::" in verdict.by:
            self.kills.append((mutant, verdict.by))
        return verdict

    def ordered(self, mutant: Mutant, tests: Sequence[str]) -> list[str]:
        """First the tests that killed the mutants nearest to this one in its file, then their
        files, then the others."""
        own = [(abs(m.line - mutant.line), by) for m, by in self.kills if m.path == mutant.path]
        by = [test for _, test in sorted(own) if test.partition("::")[0] in tests]
        first = list(dict.fromkeys(by))[:3]
        files = [test.partition("::")[0] for test in by]
        return [*first, *dict.fromkeys([*files, *tests])]


def copy(root: Path, tree: Path) -> None:
    """What git tracks and what it does not ignore, compiled."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, tree / name)
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "kernels", "tests"], cwd=tree, check=True
    )


class changed:
    """Within this context the file of the mutant is changed. Its time is set as well: bytecode
    is looked up by it, in whole seconds."""

    def __init__(self, tree: Path, mutant: Mutant):
        self.path, self.mutant = tree / mutant.path, mutant

    def __enter__(self) -> None:
        self.source, self.time = self.path.read_bytes(), self.path.stat().st_mtime_ns
        self.path.write_bytes(self.mutant.apply(self.source))
        os.utime(self.path, ns=(self.time + 10**10, self.time + 10**10))

    def __exit__(self, *_) -> None:
        self.path.write_bytes(self.source)
        os.utime(self.path, ns=(self.time, self.time))


def survivors(
    selected: Sequence[Mutant], jobs: int, everything: bool, root: Path = ROOT
) -> Iterator[tuple[Mutant, Verdict]]:
    """Each mutant with its verdict, as they come."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, ThreadPoolExecutor(jobs) as pool:
        runner = Runner(root, Path(folder), jobs, everything)
        yield from zip(selected, pool.map(runner.judge, selected))


# ---------------------------------------------------------------------- command line


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="mutants to make (200)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice among all (1)")
    parser.add_argument(
        "--only", nargs="+", default=["kernels"], metavar="PATH", help="files or folders (kernels)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument(
        "--near", action="store_true", help="run the tests of the mirrored folder only"
    )
    parser.add_argument(
        "--at-most", default="5%", metavar="SHARE", help="exit with 1 if more survive (5%%)"
    )
    options = parser.parse_args(arguments)
    from tqdm import tqdm

    selected = chosen(ROOT, options.only, options.count, options.seed)
    alive = 0
    with tqdm(total=len(selected), unit="mutant") as bar:
        for mutant, verdict in survivors(selected, options.jobs, not options.near):
            bar.update()
            if not verdict.killed:
                alive += 1
                bar.set_postfix_str(f"{alive} survive")
                lines = mutant.difference((ROOT / mutant.path).read_bytes())
                bar.write("\n".join([f"{mutant.path}:{mutant.line}: {mutant.kind}", *lines, ""]))
    share = alive / len(selected) if selected else 0
    print(f"{alive} of {len(selected)} mutants survive ({share:.1%}), seed {options.seed}")
    return int(share > float(options.at_most.rstrip("%")) / 100)


if __name__ == "__main__":
    sys.exit(main())
