"""A book that is published on a code host, all of it on the loopback: what each link leads to."""

from __future__ import annotations

import functools
import http.server
import importlib
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from building import ROOT, SET_UP

sys.path.insert(0, str(ROOT / "tools"))
address = importlib.import_module("address")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
PAGE = "book/01_first.ipynb"


def git(folder: Path, *words: str) -> str:
    """What git prints; raises CalledProcessError when it fails."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def publish(folder: Path, tag: str) -> None:
    """Set the address, commit and tag, as tools/README.md says; its host packs the tag."""
    host = address.read(folder / "tools" / "address.json").hub
    words = [f"{host}/NAME", tag, "--hub", host, "--archive", f"{host}/{tag}.zip"]
    assert address.main(words) == 0
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", tag)
    git(folder, "tag", tag)
    git(folder, "archive", "--prefix=NAME-1/", "-o", f"../{tag}.zip", tag)


@pytest.fixture
def host(tmp_path, monkeypatch):
    """The address of a host with edition v1; `publish` makes the next."""
    folder = tmp_path / "host" / "NAME"
    for path in SET_UP:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    shutil.copy(address.CITATION, folder)
    (folder / "kernels" / "__init__.py").write_text("")
    (folder / "book").mkdir()
    cell = nbformat.v4.new_code_cell("", id="first")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / PAGE)
    monkeypatch.setattr(address.notebooks, "BOOK", folder / "book")
    monkeypatch.setattr(address.notebooks, "FIRST_CELL", folder / "tools" / "first_cell.py")
    monkeypatch.setattr(address, "ROOT", folder)
    monkeypatch.setattr(address, "RECORD", folder / "tools" / "address.json")
    monkeypatch.setattr(address, "CITATION", folder / "CITATION.cff")
    git(folder.parent, "init", "-q", "NAME")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        address.write(address.Address(hub=f"http://127.0.0.1:{server.server_port}"))
        publish(folder, "v1")
        yield folder
        server.shutdown()
        thread.join()


def open_alone(text: str, folder: Path) -> Path:
    """Run a notebook's first cell in an empty folder, as Colab does; where its `kernels` is."""
    folder.mkdir()
    source = nbformat.reads(text, as_version=4).cells[0].source
    command = [sys.executable, "-c", f"{source}\nimport kernels; print(kernels.__file__)"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return Path(ran.stdout.strip()).parent.parent


def test_a_notebook_of_an_edition_downloads_that_edition(host, tmp_path):
    """Colab's link names the tag, and so does the first cell of the notebook that it opens."""
    at = address.read(address.RECORD)
    publish(host, "v2")
    for tag in "v1", "v2":
        found = open_alone(git(host, "show", f"{tag}:{PAGE}"), tmp_path / tag)
        assert found == tmp_path / tag / f"sgemm-book-{tag}"
        record = address.read(found / "tools" / "address.json")
        assert record.tag == tag and record.repository == at.repository


def test_a_hub_gets_the_branch_and_follows_it(host, tmp_path):
    """What nbgitpuller does with its link: a shallow clone, later an update."""
    at = address.read(address.RECORD)
    link = address.launches(at, PAGE)["JupyterHub"]
    asked = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert asked["repo"] == at.repository
    home = tmp_path / "home"
    home.mkdir()
    repository = f"file://{host}"  # for a shallow clone
    git(home, "clone", "-q", "--depth", "1", "--branch", asked["branch"], repository, "NAME")
    opened = home / asked["urlpath"].removeprefix("lab/tree/")
    assert opened == home / "NAME" / PAGE
    source = nbformat.read(opened, as_version=4).cells[0].source
    command = [sys.executable, "-c", source]
    for tag in "v1", "v2":  # before an update of the copy, and after it
        assert address.read(home / "NAME" / "tools" / "address.json").tag == tag
        ran = subprocess.run(command, cwd=opened.parent, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        publish(host, "v2" if tag == "v1" else "v3")
        git(home / "NAME", "pull", "-q", "--ff-only")
        source = nbformat.read(opened, as_version=4).cells[0].source
        command = [sys.executable, "-c", source]
