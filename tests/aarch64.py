"""An aarch64 Python with NumPy on another machine: what the tests do on 64-bit Arm.

Where a conversion is out of range, or a result is not a number, its processors do not do what x86
does, and NumPy passes it on: NaN is 0 as an int32, and has another sign. QEMU runs their
instructions, one program at a time. On Debian:

    python -m tests.aarch64 make
    python -m tests.aarch64 pytest tests/anywarp/ptx/test_hardware.py

The first puts QEMU, Debian's Python for arm64 and the wheels into `_build/aarch64`, 300 MB, and
installs nothing. It takes half a minute; with them there, `tests/test_aarch64.py` is not skipped.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.newest import requirements

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "_build" / "aarch64"
PYTHON = ("python3", "libstdc++6")  # and what they depend on; the library is for NumPy
QEMU = "qemu-user-static"
PROGRAM = "qemu-aarch64-static"
PACKAGES = (
    *("numpy", "tqdm", "pytest", "hypothesis"),
    *("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
)
HEADERS = "nvidia-cuda-cccl-cu12==12.9.*"  # elsewhere CuPy brings them, which has no use here
MANYLINUX = ("manylinux2014", "manylinux_2_27", "manylinux_2_28")


class Missing(Exception):
    """What has to be there first, and is not."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.aarch64")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make", help="download what is needed into _build/aarch64")
    # no character begins an option here, so that pytest gets all of them
    run = commands.add_parser("pytest", help="run tests on it", prefix_chars="\0")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what pytest takes")
    given = parser.parse_args(arguments)
    try:
        if given.command == "make":
            make()
            return 0
        command = pytest_command(given.arguments)
        return subprocess.run(command, cwd=ROOT, env=environment()).returncode
    except (Missing, subprocess.CalledProcessError) as problem:
        print(problem, file=sys.stderr)
        return 1


def why_not() -> str:
    """Why no tests can be run on it, "" if they can."""
    if platform.machine() in ("aarch64", "arm64"):
        return "this machine is one itself"
    if python(FOLDER).exists():
        return ""
    return "there is no aarch64 here; on Debian: python -m tests.aarch64 make"


def python(folder: Path) -> Path:
    """The interpreter for aarch64 in a folder, whether it is there or not."""
    return folder / "root" / "usr" / "bin" / "python3"


def pytest_command(arguments: Sequence[str]) -> list[str]:
    """What runs pytest there, without the plugins that pyproject.toml asks for.

    Raises Missing, with the reason, where it cannot be run."""
    if reason := why_not():
        raise Missing(reason)
    qemu = shutil.which(PROGRAM) or str(FOLDER / PROGRAM)
    own = ["-o", "addopts=", "-p", "no:cacheprovider", "-m", "not slow"]
    return [qemu, "-L", f"{FOLDER}/root", str(python(FOLDER)), "-m", "pytest", *own, *arguments]


def environment() -> dict[str, str]:
    """Of a program there: its packages, and no compiled modules beside this machine's."""
    return os.environ | {"PYTHONPATH": f"{FOLDER}/site", "PYTHONDONTWRITEBYTECODE": "1"}


def make() -> None:
    """Download and unpack all of it. Raises Missing and CalledProcessError."""
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise Missing(f"there is no {program}: this takes Debian's packages, on Debian")
    folder = FOLDER.with_name("aarch64.part")  # until all of it is there
    shutil.rmtree(folder, ignore_errors=True)
    packages, root = folder / "packages", folder / "root"
    for each in (packages / "partial", folder / "lists" / "partial", root):
        each.mkdir(parents=True)
    (folder / "status").touch()  # as if nothing were installed
    _download(folder, packages)
    for package in sorted(packages.glob("*.deb")):
        _run("dpkg", "-x", str(package), str(root))
    if not shutil.which(PROGRAM):
        _run("apt-get", "-q", "download", QEMU, cwd=packages)
        _run("dpkg", "-x", str(next(packages.glob(f"{QEMU}_*.deb"))), str(packages))
        shutil.copy(packages / "usr" / "bin" / PROGRAM, folder)
    version = python(folder).resolve().name.removeprefix("python")
    platforms = [f"--platform={name}_aarch64" for name in MANYLINUX]
    _run(
        *(sys.executable, "-m", "pip", "install", "-q", "--target", str(folder / "site")),
        *("--only-binary=:all:", "--implementation=cp", f"--python-version={version}"),
        *(*platforms, *pinned(), HEADERS),
    )
    for rest in ("packages", "lists"):
        shutil.rmtree(folder / rest)
    shutil.rmtree(FOLDER, ignore_errors=True)
    folder.rename(FOLDER)


def pinned() -> list[str]:
    """The packages with the versions that requirements.txt asks for."""
    lines = [line.partition(";")[0] for line in requirements(ROOT / "requirements.txt")]
    versions = {line.partition("==")[0]: line for line in lines}
    return [versions[name] for name in PACKAGES]


def _download(folder: Path, packages: Path) -> None:
    """Debian's packages for arm64, of the release that is installed here."""
    apart = (
        *("-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"),
        *("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::State::status={folder}/status"),
        *("-o", f"Dir::Cache::archives={packages}", "-o", "Debug::NoLocking=1", "-q"),
    )
    _run("apt-get", *apart, "update")
    _run("apt-get", *apart, "install", "-y", "-d", "--no-install-recommends", *PYTHON)


def _run(*command: str, cwd: Path = ROOT) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, check=True, cwd=cwd)


if __name__ == "__main__":
    sys.exit(main())
