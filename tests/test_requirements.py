"""The files of requirements: one pin for each package, and the lock has them all."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from building import ROOT
from packaging.requirements import Requirement

FOLDER = ROOT / "requirements"
LOCKS = {  # what each has to hold, and more packages than these
    "requirements/lock.txt": (ROOT / "requirements.txt", 100),
    "requirements/lock_build.txt": (FOLDER / "build.txt", 100),
    "hub/lock.txt": (ROOT / "hub/requirements.txt", 80),
}
FILES = [ROOT / "requirements.txt"]
FILES += sorted(path for path in FOLDER.glob("*.txt") if not path.stem.startswith("lock"))
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z-]+\])?==([\w.]+)", re.MULTILINE)


def text(path):
    return path.read_text(encoding="utf-8")


def pins(path):
    """The packages of a file and of those that it names."""
    found = PIN.findall(text(path))
    for name in re.findall(r"^-r (\S+)$", text(path), re.MULTILINE):
        found += pins(path.parent / name)
    return found


def test_every_line_is_understood():
    for path in FILES:
        rest = re.sub(r"^(#.*|-r \S+|)$", "", PIN.sub("", text(path)), flags=re.MULTILINE)
        here = 'sys_platform != "darwin" and platform_machine != "ARM64"'
        there = 'sys_platform == "darwin" or platform_machine == "ARM64"'
        allowed = rf"(; ({here}|{there}|sys_platform != \"win32\"))?(  # .*)?"
        assert all(re.fullmatch(allowed, line) for line in rest.splitlines()), path


def test_every_package_has_one_version():
    """ziglang has it twice: where there is no NVRTC, and elsewhere for the tests."""
    found = [pin for path in FILES for pin in PIN.findall(text(path))]
    assert len({name for name, _ in found}) == len(set(found)) == len(found) - 1 > 10


def test_all_are_in_the_file_of_the_readme():
    every = {pin for path in FILES for pin in pins(path)}
    assert set(pins(ROOT / "requirements.txt")) == every


@pytest.mark.parametrize("name, left_out", [
    ("run", ("cupy", "jupyter-book", "pytest")),
    ("gpu", ("jupyter-book", "mpi4py", "pytest")),
    ("many", ("cupy", "jupyter", "numpy")),
    ("build", ("cupy", "nvidia", "pytest")),
])  # fmt: skip
def test_each_file_asks_for_no_more_than_it_says(name, left_out):
    names = [name for name, _ in pins(ROOT / "requirements" / f"{name}.txt")]
    assert not [package for package in names if package.startswith(left_out)]


def entries(lock):
    """What a lock says of each package, without what asks for it."""
    locked = re.split(r"^(?=[a-z0-9])", text(ROOT / lock), flags=re.MULTILINE)[1:]
    return {entry.partition("    # via")[0] for entry in locked if entry}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_what_is_asked_for_with_hashes_and_no_addresses(lock):
    """Otherwise make it anew: tools/README.md has the command."""
    path, least = LOCKS[lock]
    assert set(pins(path)) <= set(PIN.findall(text(ROOT / lock)))
    assert len(entries(lock)) > least
    assert all("--hash=sha256:" in entry for entry in entries(lock))
    assert "://" not in text(ROOT / lock) and "index-url" not in text(ROOT / lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_what_is_asked_for_with_an_extra_is_locked_with_it(lock):
    """Else pip 23.2, that of Python 3.11, looks for another version of it, which has no hash."""
    locked = text(ROOT / lock)
    for name in set(dict(PIN.findall(locked))) & installed():
        for asked in map(Requirement, metadata.requires(name) or ()):
            if asked.extras and (not asked.marker or asked.marker.evaluate({"extra": ""})):
                assert f"\n{asked.name}[{','.join(asked.extras)}]==" in locked, (name, asked)


def installed():
    """The names of the packages of this environment."""
    return {package.metadata["Name"].lower() for package in metadata.distributions()}


def test_the_locks_agree():
    book, hub = (dict(PIN.findall(text(ROOT / lock))) for lock in (*LOCKS,)[::2])
    assert entries("requirements/lock_build.txt") < entries("requirements/lock.txt")
    common = book.keys() & hub.keys()
    assert len(common) > 60 and not [name for name in common if book[name] != hub[name]]


def test_the_commands_and_the_workflows_install_locks():
    """pip then wants a hash for each package; only the newest releases have none."""
    callers = [ROOT / "README.md", *(ROOT / ".github/workflows").glob("*.yml")]
    asked = [re.findall(r"pip install [-\w ]*-r (\S+\.txt)", text(path)) for path in callers]
    locks = {lock for lock in LOCKS if lock.startswith("requirements")}
    assert {name for names in asked for name in names} == {*locks, "newest.txt"}
