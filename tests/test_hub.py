"""What a Binder and a JupyterHub build: Python, packages and the image of a reader's server."""

from __future__ import annotations

import re

import pytest
from building import ROOT

from kernels import prepare

BINDER, HUB = ROOT / "binder", ROOT / "hub"
IMAGE = re.sub(r"^#.*\n|\\\n", "", (HUB / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
INSTRUCTIONS = [tuple(line.split(maxsplit=1)) for line in IMAGE.splitlines() if line]


def pins(name: str) -> set[str]:
    return set(prepare.pins(ROOT / name).values())


def instructions(word: str) -> list[str]:
    return [rest for first, rest in INSTRUCTIONS if first == word]


def python_of_image() -> str:
    (base,) = instructions("FROM")
    return re.fullmatch(r"python:(3\.\d+)-slim-[a-z]+", base)[1]


# ------------------------------------------------------------------------------- Binder


def test_binder_has_what_the_notebooks_import_and_the_compiler():
    assert pins("binder/requirements.txt") == (
        pins("requirements/base.txt") | pins("requirements/compiler.txt")
    )
    names = set(prepare.pins(BINDER / "requirements.txt"))
    assert names == {*prepare.NEEDED, *prepare.COMPILER, "ziglang"}  # the last on other systems


def test_binder_keeps_its_own_jupyterlab():
    """One of another version would not fit the notebook server that repo2docker installs."""
    assert "jupyterlab" in prepare.pins(ROOT / "requirements" / "run.txt")
    assert not {"jupyterlab", "cupy-cuda12x"} & set(prepare.pins(BINDER / "requirements.txt"))


def test_binder_and_the_image_have_one_python_that_the_book_runs_on():
    (version,) = re.fullmatch(r"python-(3\.\d+)\n", (BINDER / "runtime.txt").read_text()).groups()
    assert version == python_of_image()
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert f'"{version}"' in workflow
    assert f"Python {version}" in (ROOT / "requirements" / "README.md").read_text("utf-8")


# -------------------------------------------------------------------------------- a hub


def test_the_image_has_what_a_gpu_asks_for_and_the_pages_do_not():
    names = set(prepare.pins(HUB / "requirements.txt"))
    assert pins("requirements/gpu.txt") < pins("hub/requirements.txt")
    assert {"jupyterhub", "nbgitpuller", "nvidia-cublas-cu12"} <= names
    assert not names & {"jupyter-book", "pytest", "ruff"}


def test_cublas_is_of_the_same_cuda_as_the_compiler():
    found = prepare.pins(HUB / "requirements.txt")
    version = re.compile(r"==(\d+\.\d+)\.")
    of = {name: version.search(pin)[1] for name, pin in found.items() if name.startswith("nvidia")}
    assert len(of) == 3 and len(set(of.values())) == 1, of


def test_the_image_installs_the_lock_and_nothing_unchecked():
    installs = [run for run in instructions("RUN") if "pip install" in run]
    locked, *others = installs
    assert re.search(r"--no-deps --require-hashes --requirement /opt/lock\.txt$", locked)
    assert len(others) == 1 and others[0].startswith('[ -z "$JUPYTERHUB" ] ||')
    assert 'JUPYTERHUB=""' in instructions("ARG")
    for copied in instructions("COPY"):
        *sources, target = copied.split()
        assert target == "/opt/" and all((HUB / source).is_file() for source in sources)


def test_the_image_runs_as_a_user_who_is_not_root():
    """A number, since Kubernetes cannot look up a name before the container runs."""
    last = max(i for i, (word, _) in enumerate(INSTRUCTIONS) if word == "USER")
    number = INSTRUCTIONS[last][1]
    assert number.isdigit() and int(number) > 0
    assert f"--uid {number} " in instructions("RUN")[0]
    assert not [word for word, _ in INSTRUCTIONS[last:] if word in ("RUN", "COPY")]
    assert instructions("CMD") == ['["jupyterhub-singleuser"]']


@pytest.mark.parametrize("folder", [BINDER, HUB], ids=lambda path: path.name)
def test_no_address_is_named(folder):
    for path in folder.iterdir():
        assert "://" not in path.read_text("utf-8"), path
