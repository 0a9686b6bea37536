"""The address of the book: one command sets it everywhere, and until then it is nowhere."""

from __future__ import annotations

import dataclasses
import html
import importlib
import re
import shutil
import sys
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from building import ROOT, build_book

sys.path.insert(0, str(ROOT / "tools"))
address = importlib.import_module("address")
HUB = "https://hub.example.org"
GITHUB = "https://github.com/OWNER/NAME"
EDITION = address.Address(
    GITHUB,
    "v1.2",
    "main",
    "https://owner.github.io/NAME/",
    HUB,
    f"{GITHUB}/archive/refs/tags/v1.2.zip",
    "0" * 64,
)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one notebook and one page, which the command may write into."""
    for folder in "tools", "book", "book/assets":
        (tmp_path / folder).mkdir()
    for path in ("_config.yml", "CITATION.cff", "tools/first_cell.py"):
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / "book" / "assets", tmp_path / "book" / "assets", dirs_exist_ok=True)
    text = "# First\n\nWhat this chapter is about. It has 2 < 3 sentences."
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell("1")]
    nb = nbformat.v4.new_notebook(cells=cells, metadata=address.notebooks.METADATA)
    for cell in nb.cells:
        del cell["id"]
    nb.nbformat_minor = 4
    nbformat.write(nb, tmp_path / "book" / "01_first.ipynb")
    (tmp_path / "book" / "index.md").write_text("# Title\n\nThe whole book.\n")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n  - file: book/01_first\n"
    )
    monkeypatch.setattr(address.notebooks, "BOOK", tmp_path / "book")
    monkeypatch.setattr(address.notebooks, "FIRST_CELL", tmp_path / "tools" / "first_cell.py")
    monkeypatch.setattr(address, "RECORD", tmp_path / "tools" / "address.json")
    monkeypatch.setattr(address, "CITATION", tmp_path / "CITATION.cff")
    monkeypatch.setattr(address, "digest", lambda root: EDITION.sha256)
    return tmp_path


def contents(book) -> dict[str, str]:
    paths = ["tools/first_cell.py", "tools/address.json", "CITATION.cff", "book/01_first.ipynb"]
    return {path: (book / path).read_text("utf-8") for path in paths}


# ----------------------------------------------------------------------------- the tree


def test_the_tree_is_as_the_command_leaves_it():
    now = address.read()
    for path, text in address.files(now).items():
        assert path.read_text("utf-8") == text, path.name


def test_the_tree_names_an_edition_whole_or_not_at_all():
    """An address that half of the files have would send readers elsewhere."""
    parts = dataclasses.asdict(address.read())
    set_ = [parts[name] for name in ("repository", "tag", "branch", "archive", "sha256")]
    assert all(set_) or not any(set_)


def test_the_edition_that_readers_get_has_its_changes_listed():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heading = f"## {address.read().tag or 'Not yet published'}"
    assert heading in changes.splitlines()


# -------------------------------------------------------------------------- the command


def test_one_command_sets_it_everywhere_and_takes_it_out(book):
    address.main([])
    nowhere = contents(book)
    assert "http" not in "".join(nowhere.values()).replace("import", "")
    assert address.main([f"{GITHUB}.git", "v1.2", "--hub", HUB]) == 0
    assert address.read(address.RECORD) == EDITION
    there = contents(book)
    for path in "tools/first_cell.py", "book/01_first.ipynb":
        for value in EDITION.archive, EDITION.sha256, "sgemm-book-v1.2":
            assert value in there[path]
    for stated in 'version: "v1.2"', f'repository-code: "{GITHUB}"', f'url: "{EDITION.pages}"':
        assert stated in there["CITATION.cff"].splitlines()
    address.main([f"{GITHUB}/", "v1.2", "--hub", f"{HUB}/"])
    assert contents(book) == there
    address.main([])
    assert contents(book) == nowhere


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["example.org/book", "v1"], "not an https address"),
        (['https://a.org/"; import os', "v1"], "not an https address"),
        (["https://a b", "v1"], "not an https address"),
        (["http://example.org/a/b", "v1"], "not an https address"),
        ([GITHUB], "a repository needs a tag"),
        ([GITHUB, "v1 v2"], "not the name of a tag"),
        ([GITHUB, 'v1"'], "not the name of a tag"),
        (["https://git.example.org/a/b", "v1"], "give --archive"),
    ],
)
def test_what_is_no_address_is_refused(book, capsys, arguments, complaint):
    with pytest.raises(SystemExit, match="2"):
        address.main(arguments)
    assert complaint in capsys.readouterr().err and not address.RECORD.exists()


def test_links_are_those_of_the_services():
    links = address.launches(EDITION, "book/01_first.ipynb")
    assert links["Colab"] == (
        "https://colab.research.google.com/github/OWNER/NAME/blob/v1.2/book/01_first.ipynb"
    )
    assert links["Binder"] == (
        "https://mybinder.org/v2/gh/OWNER/NAME/v1.2?urlpath=lab/tree/book/01_first.ipynb"
    )
    hub = urlsplit(links["JupyterHub"])
    assert f"{hub.scheme}://{hub.netloc}{hub.path}" == f"{HUB}/hub/user-redirect/git-pull"
    assert parse_qs(hub.query) == {
        "repo": [GITHUB],
        "branch": ["main"],
        "urlpath": ["lab/tree/NAME/book/01_first.ipynb"],
    }


def test_a_host_has_only_what_it_offers():
    own = dataclasses.replace(EDITION, repository="https://git.example.org/OWNER/NAME")
    assert list(address.launches(own, "book/01_first.ipynb")) == ["JupyterHub"]
    assert not address.launches(address.Address(), "book/01_first.ipynb")


# ---------------------------------------------------------------------------- the pages


def test_pages_have_the_address_that_the_book_has(book, tmp_path):
    address.main([GITHUB, "v1.2", "--hub", HUB])
    build = build_book(book, tmp_path)
    assert build.returncode == 0, build.stdout + build.stderr
    pages = tmp_path / "_build" / "html"
    page, index = (
        (pages / "book" / f"{name}.html").read_text("utf-8") for name in ("01_first", "index")
    )
    links = re.findall(r'href="([^"]*)"', page)
    for name, url in address.launches(EDITION, "book/01_first.ipynb").items():
        assert html.escape(url) in links or url in links, name
    assert {f"{GITHUB}/edit/main/book/01_first.ipynb", GITHUB} <= set(links)
    assert any(link.startswith(f"{GITHUB}/issues/new?") for link in links)
    assert f'<link href="{EDITION.pages}book/01_first.html" rel="canonical"/>' in page
    assert "launch-buttons" not in index and f"{GITHUB}/edit/main/book/index.md" in index
    assert not re.search(r'<i class="[^"]*\bfa-', page)
