"""The first cell of every notebook where it is run: in the folder, alone, offline, on Colab."""

from __future__ import annotations

import http.server
import importlib
import io
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from building import ROOT, SET_UP

sys.path.insert(0, str(ROOT / "tools"))
address = importlib.import_module("address")
CELL = address.first_cell(address.Address(), address.notebooks.first_cell())
WHICH = "import kernels; print(kernels.__file__); print(sys.path.count(str(root)))"
NAME, ZIP = "sgemm-book-v1", "/owner/book/archive/refs/tags/v1.zip"


def cell(archive: str = "", name: str = NAME, sha256: str = "") -> str:
    """The first cell of a book that is published under `archive`."""
    tag = name.partition("book-")[2]
    return address.first_cell(address.Address(tag=tag, archive=archive, sha256=sha256), CELL)


def files(name: str = NAME) -> dict[str, str]:
    """What the cell needs of the book, by path."""
    found = {path: (ROOT / path).read_text("utf-8") for path in SET_UP}
    found["tools/first_cell.py"] = cell("", name)
    return {**found, "kernels/__init__.py": ""}


def tree(root: Path, name: str = NAME) -> Path:
    for path, text in files(name).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def here(tmp_path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def run(folder: Path, *sources: str, **variables: str) -> subprocess.CompletedProcess:
    """Run sources one after the other in one Python, as a notebook does, with no git to be found.

    Then print which `kernels` they give, and how often its folder is on sys.path.
    """
    variables = {**os.environ, "PATH": "", "no_proxy": "*", **variables}
    code = "\n".join([*sources, "import sys", WHICH])
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, env=variables
    )


def gives(ran: subprocess.CompletedProcess, root: Path) -> bool:
    """Whether the cells have put `root` on sys.path, once, and said nothing of it."""
    return ran.stdout.split() == [str(root / "kernels" / "__init__.py"), "1"] and not ran.stderr


class Site(http.server.BaseHTTPRequestHandler):
    """A code host with one archive, which counts requests and cuts an answer `short`."""

    body: bytes | None
    asked: list[str]
    short: int

    def do_GET(self):
        self.asked.append(self.path)
        body = self.body or b""
        self.send_response(404 if self.body is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - self.short])

    def log_message(self, *_):
        pass


def archive(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as book:
        for path, text in members.items():
            book.writestr(path, text)
    return packed.getvalue()


def in_folder(members: dict[str, str]) -> dict[str, str]:
    """As code hosts pack a tag: everything in one folder, with a name of theirs."""
    return {f"book-1/{path}": text for path, text in members.items()}


@pytest.fixture
def site(tmp_path):
    """A code host on the loopback; `.cell` is the first cell of a notebook of its book."""
    book = archive(in_folder(files()))
    handler = type("Host", (Site,), {"body": book, "asked": [], "short": 0})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        handler.url = f"http://127.0.0.1:{server.server_port}{ZIP}"
        handler.cell = cell(handler.url, sha256=address.digest(tree(tmp_path / "packed")))
        yield handler
        server.shutdown()
        thread.join()


# ----------------------------------------------------------------------- in the folder


def test_it_finds_the_folder_above(tmp_path):
    deep = tree(tmp_path / "tree") / "book" / "more"
    deep.mkdir(parents=True)
    assert gives(run(deep, cell()), tmp_path / "tree")


def test_it_may_run_again_and_keeps_what_is_imported(tmp_path):
    root = tree(tmp_path)
    again = "import kernels", "kernels.mark = 1", cell(), "import kernels; kernels.mark"
    assert gives(run(root, cell(), *again), root)


FOREIGN = "value = 'of another package'"


def test_another_package_named_kernels_in_the_folder_does_not_matter(tmp_path, here):
    root = tree(tmp_path)
    (here / "kernels").mkdir()
    (here / "kernels" / "__init__.py").write_text(FOREIGN)
    assert gives(run(here, cell()), root)


@pytest.mark.parametrize("file", ["kernels/__init__.py", "kernels/part.py", "kernels.py"])
def test_another_package_named_kernels_may_be_installed_but_not_imported(tmp_path, here, file):
    """What imported it goes on to use it, so that it is not taken away."""
    root, elsewhere = tree(tmp_path), tmp_path / "site-packages"
    (elsewhere / file).parent.mkdir(parents=True)
    (elsewhere / file).write_text(FOREIGN)
    assert gives(run(here, cell(), PYTHONPATH=str(elsewhere)), root)
    imported = f"""import atexit, sys
import kernels{".part" if "part" in file else ""} as one
other = sys.modules["kernels"]
atexit.register(lambda: print(sys.modules["kernels"] is other))"""
    refused = run(here, imported, cell(), PYTHONPATH=str(elsewhere))
    assert refused.stdout == "True\n"
    said = refused.stderr.splitlines()[-1]
    assert said.startswith("RuntimeError: another package named kernels is imported, from ")
    assert said.endswith(": restart the notebook's kernel, and run this cell before all others")
    assert "part" in file or str(elsewhere) in said


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no user numbers")
@pytest.mark.parametrize("planted", [".", "kernels", "kernels/prepare.py"])
def test_a_folder_of_another_user_is_refused(tmp_path, here, planted):
    """Its code would run as the reader."""
    root = tree(tmp_path / "shared")
    (root / "kernels" / "prepare.py").write_text("print('planted')")
    nobody = 54321
    if os.getuid() == 0:  # who may give files away, and whose own are trusted
        os.chown(root / planted, nobody, -1)
        refused = run(root, cell())
    else:
        refused = run(root, f"import os; os.getuid = lambda: {nobody}", cell())
    said = f"PermissionError: {root} is another user's: copy it, as your own"
    assert refused.stderr.splitlines()[-1] == said and not refused.stdout


def test_a_notebook_of_another_edition_is_refused(tmp_path):
    """A persistent hub: the folder is of last year, the notebook was downloaded today."""
    old = tree(tmp_path / "old", "sgemm-book-v1")
    refused = run(old, cell("http://127.0.0.1:9/", "sgemm-book-v2"))
    said = refused.stderr.splitlines()[-1]
    assert said.startswith("RuntimeError: this notebook belongs to sgemm-book-v2, but the folder ")
    assert f"{old} holds sgemm-book-v1: take the notebook from that folder" in said


# ------------------------------------------------------------------------------- alone


def stops(ran: subprocess.CompletedProcess, url: str, cause: str) -> bool:
    """Whether a run says what is missing, and why."""
    said = ran.stderr.splitlines()[-1]
    assert said.startswith(f"OSError: no {NAME} here, nor from {url or 'any address'}: ")
    return cause in said


def test_it_downloads_the_book_once_and_leaves_an_older_edition_alone(here, site):
    old = tree(here / "sgemm-book-v0", "sgemm-book-v0")
    for folder in here, here, here / "sub":
        folder.mkdir(exist_ok=True)
        assert gives(run(folder, site.cell), here / NAME)
    assert site.asked == [ZIP]
    assert sorted(path.name for path in here.iterdir()) == [old.name, NAME, "sub"]
    assert sorted(path.name for path in old.iterdir()) == ["kernels", "requirements", "tools"]


ANOTHER = "it is not the book of this notebook"


@pytest.mark.parametrize("members, cause", [
    (None, "404"),
    (b"<p>Log in to this network", "is not a zip file"),
    ({}, ANOTHER),
    (files(), ANOTHER),  # without a folder
    (in_folder({"README.md": ""}), ANOTHER),
    (in_folder({**files(), "kernels/prepare.py": "print('planted')"}), ANOTHER),
    (in_folder({**files(), "anywarp/more.py": ""}), ANOTHER),
], ids=["gone", "no archive", "empty", "no folder", "no book", "changed", "more"])  # fmt: skip
def test_what_is_not_the_book_is_refused_and_nothing_is_left(here, site, members, cause):
    site.body = archive(members) if isinstance(members, dict) else members
    refused = run(here, site.cell, TMPDIR=str(here))
    assert stops(refused, site.url, cause) and not refused.stdout
    assert not list(here.iterdir())


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/v1.zip"])  # where nobody listens
def test_without_an_address_or_offline_it_says_what_is_missing(here, url):
    assert stops(run(here, cell(url)), url, "refused" if url else "unknown url type")
    assert not list(here.iterdir())


def test_a_download_that_breaks_off_leaves_nothing_and_the_next_one_works(here, site):
    site.short = 100
    assert stops(run(here, site.cell), site.url, "retrieval incomplete")
    assert not list(here.iterdir())
    site.short = 0
    assert gives(run(here, site.cell), here / NAME)


def test_half_a_folder_is_not_written_into(here, site):
    """An interrupted `git clone`, or a copy by hand."""
    (here / NAME / ".git").mkdir(parents=True)
    assert stops(run(here, site.cell), site.url, f"{here / NAME}'")
    assert [path.name for path in (here / NAME).iterdir()] == [".git"]


# -------------------------------------------------------------------------- its packages


@pytest.fixture
def prepare(monkeypatch):
    module = importlib.import_module("kernels.prepare")
    monkeypatch.setattr(module, "same_edition", lambda name: None)
    monkeypatch.setattr(module, "come_first", lambda: None)
    return module


def test_every_package_that_it_looks_for_is_in_the_requirements(prepare):
    known = prepare.pins(ROOT / "requirements" / "test.txt")
    assert set(prepare.NEEDED + prepare.COMPILER) <= set(known)
    assert known["numpy"].startswith("numpy==2.")


def test_elsewhere_it_says_which_packages_are_missing(prepare, monkeypatch):
    monkeypatch.setattr(prepare, "installed", lambda package: package != "tqdm")
    with pytest.raises(ModuleNotFoundError, match=r"more packages: %pip install tqdm==[\d.]+$"):
        prepare.prepare(NAME)


def test_on_colab_it_installs_what_is_missing_and_nothing_else(prepare, monkeypatch):
    """Its CPU runtime has no compiler; what it has stays at its own version."""
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    monkeypatch.setattr(prepare, "installed", lambda package: package in prepare.NEEDED)
    asked = []
    monkeypatch.setattr(prepare, "install", asked.extend)
    prepare.prepare(NAME)
    assert [text.partition("==")[0] for text in asked] == list(prepare.COMPILER)


def wheel(folder: Path) -> None:
    """A package for pip: `probe` 1.0, with one module."""
    about = "probe-1.0.dist-info"
    with zipfile.ZipFile(folder / "probe-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr("probe.py", "value = 1")
        packed.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n")
        packed.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr(f"{about}/RECORD", "")


@pytest.mark.slow
def test_pip_installs_a_package(prepare, here, monkeypatch, capfd):
    wheel(here)
    target = here / "installed"
    settings = {"NO_INDEX": 1, "FIND_LINKS": here, "TARGET": target, "CONFIG_FILE": os.devnull}
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    prepare.install(["probe==1.0"])
    assert (target / "probe.py").is_file()
    assert capfd.readouterr().out == "Installing probe==1.0\n"


def test_what_pip_says_when_it_fails_is_quoted(prepare, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no such version\n")
    monkeypatch.setattr(prepare.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="pip could not install probe==2.0: ERROR: no such ver"):
        prepare.install(["probe==2.0"])


def test_nothing_is_asked_of_pip_where_nothing_is_missing(prepare, monkeypatch):
    monkeypatch.setattr(prepare.subprocess, "run", None)
    prepare.install([])
