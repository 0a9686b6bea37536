"""The files of requirements: one pin for each package, and the lock has them all."""

from __future__ import annotations

import re

import pytest
from building import ROOT

FILES = [ROOT / "requirements.txt", *sorted((ROOT / "requirements").glob("*.txt"))]
LOCK = ROOT / "requirements" / "lock.txt"
PIN = re.compile(r"^([a-z0-9-]+)==([\w.]+)", re.MULTILINE)


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
        if path != LOCK:
            rest = re.sub(r"^(#.*|-r \S+|)$", "", PIN.sub("", text(path)), flags=re.MULTILINE)
            allowed = r'(; sys_platform != "darwin" and platform_machine != "ARM64")?(  # .*)?'
            assert all(re.fullmatch(allowed, line) for line in rest.splitlines()), path


def test_every_package_is_pinned_once():
    names = [name for path in FILES if path != LOCK for name, _ in PIN.findall(text(path))]
    assert len(set(names)) == len(names) > 10


def test_all_are_in_the_file_of_the_readme():
    every = {pin for path in FILES if path != LOCK for pin in pins(path)}
    assert set(pins(ROOT / "requirements.txt")) == every


@pytest.mark.parametrize("name, left_out", [
    ("run", ("cupy", "jupyter-book", "pytest")),
    ("gpu", ("jupyter-book", "pytest")),
    ("build", ("cupy", "nvidia", "pytest")),
])  # fmt: skip
def test_each_file_asks_for_no_more_than_it_says(name, left_out):
    names = [name for name, _ in pins(ROOT / "requirements" / f"{name}.txt")]
    assert not [one for one in names if one.startswith(left_out)]


def test_the_lock_has_what_is_asked_for():
    """Otherwise make it anew: CONTRIBUTING.md has the command."""
    assert set(pins(ROOT / "requirements.txt")) <= set(PIN.findall(text(LOCK)))


def test_the_lock_has_hashes_and_no_addresses():
    locked = re.split(r"^(?=[a-z0-9])", text(LOCK), flags=re.MULTILINE)[1:]
    assert len(locked) > 100
    assert all("--hash=sha256:" in one for one in locked)
    assert "://" not in text(LOCK) and "index-url" not in text(LOCK)
