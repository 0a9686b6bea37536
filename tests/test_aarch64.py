"""64-bit Arm computes what an H200 did, where `tests/aarch64.py` has made one; its own errors."""

from __future__ import annotations

import re
import subprocess

import aarch64
import pytest

PARTS = {
    "arithmetic": ["tests/anywarp/ptx/test_hardware.py"],
    "conversions": ["tests/anywarp/ptx/test_convert.py"],
    "tensor cores": ["tests/anywarp/ptx/test_tensor_core.py"],
    "steps": [
        "tests/kernels/ladder/test_check.py",
        "-k=test_the_bits_are_those_of_a_real_gpu and interpreter",
    ],
}


@pytest.mark.parametrize("part", PARTS)
def test_the_same_bits(part):
    if reason := aarch64.why_not():
        pytest.skip(reason)
    done = subprocess.run(
        aarch64.pytest_command(["-q", "--tb=short", *PARTS[part]]),
        cwd=aarch64.ROOT,
        env=aarch64.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"\d passed", done.stdout)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Nothing made yet, on a machine that is no Arm."""
    monkeypatch.setattr(aarch64, "FOLDER", tmp_path / "aarch64")
    monkeypatch.setattr(aarch64.platform, "machine", lambda: "x86_64")
    return tmp_path / "aarch64"


def as_if_made(folder):
    python = aarch64.python(folder)
    python.parent.mkdir(parents=True)
    python.touch()


def test_why_not(elsewhere, monkeypatch, capsys):
    assert "python -m tests.aarch64 make" in aarch64.why_not()
    assert aarch64.main(["pytest", "tests/ptx"]) == 1
    assert capsys.readouterr().err == aarch64.why_not() + "\n"
    as_if_made(elsewhere)
    assert aarch64.why_not() == ""
    monkeypatch.setattr(aarch64.platform, "machine", lambda: "aarch64")
    assert aarch64.why_not() == "this machine is one itself"


def test_pytest_gets_what_it_is_given(elsewhere):
    as_if_made(elsewhere)
    command = aarch64.pytest_command(["-q", "tests/ptx"])
    assert command[-2:] == ["-q", "tests/ptx"] and command[1:3] == ["-L", f"{elsewhere}/root"]


def test_without_debians_tools(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(aarch64.shutil, "which", lambda program: None)
    assert aarch64.main(["make"]) == 1
    assert "there is no apt-get" in capsys.readouterr().err and not elsewhere.exists()


def test_a_download_that_fails_is_said_and_makes_nothing(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(aarch64.shutil, "which", lambda program: program)

    def run(command, **keywords):
        assert elsewhere.with_name("aarch64.part").exists()
        raise subprocess.CalledProcessError(100, command)

    monkeypatch.setattr(aarch64.subprocess, "run", run)
    assert aarch64.main(["make"]) == 1
    assert "returned non-zero exit status 100" in capsys.readouterr().err
    assert not elsewhere.exists()


def test_the_packages_are_pinned():
    for name, pin in zip(aarch64.PACKAGES, aarch64.pinned(), strict=True):
        assert re.fullmatch(rf"{name}==[\d.]+", pin)
