"""tools/pdf.py: what it says when it cannot make the PDF. The PDF itself is looked at by hand."""

from __future__ import annotations

import importlib.util
import stat
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "pdf.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("pdf", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a program with this name and this body alone on the path."""

    def make(name: str, body: str) -> Path:
        folder = tmp_path / "path"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder))
        return path

    return make


def test_without_a_browser_it_says_which_it_needs_and_builds_nothing(
    tool, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tool, "BUILD", tmp_path / "build")
    assert tool.main([str(tmp_path / "book.pdf")]) == 1
    assert "no browser on the path: one of chromium," in capsys.readouterr().err
    assert not (tmp_path / "build").exists()


def test_a_book_that_cannot_be_built_fails_with_what_the_builder_said(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "JUPYTER_BOOK", "import sys; sys.exit('bad _toc.yml')")
    with pytest.raises(tool.Failure, match="(?s)jupyter-book: exit status 1\n.*bad _toc.yml"):
        tool.single_page(tmp_path, tmp_path / "build")


@pytest.mark.parametrize("body, complaint", [
    ("sys.exit('no such display')", "(?s)Chromium: exit status 1\n.*no such display"),
    ("import time; time.sleep(60)", "Chromium: not done after 0.5 s"),
    ("", "Chromium wrote no PDF to .*book.pdf"),
])  # fmt: skip
def test_a_browser_that_fails_is_quoted_and_leaves_no_old_pdf(
    tool, tmp_path, program, monkeypatch, body, complaint
):
    page, pdf = tmp_path / "page.html", tmp_path / "book.pdf"
    page.write_text("<p>text</p>")
    pdf.write_bytes(b"%PDF-1.4 of yesterday")
    chromium = program("chromium", body)
    assert tool.browser() == str(chromium)
    monkeypatch.setattr(tool, "PATIENCE", 0.5 if "sleep" in body else 60)
    with pytest.raises(tool.Failure, match=complaint):
        tool.print_page(str(chromium), page, pdf)
    assert not pdf.exists()


def test_the_page_of_the_book_is_put_where_its_addresses_lead_somewhere(
    tool, tmp_path, monkeypatch
):
    writes = """
import pathlib, sys
folder = pathlib.Path(sys.argv[-1]) / "_build" / "singlehtml" / "book"
folder.mkdir(parents=True)
folder.joinpath("index.html").write_text('<a href="book/index.html#part">a part</a>')
"""
    monkeypatch.setattr(tool, "JUPYTER_BOOK", writes)
    made = tool.single_page(tmp_path, tmp_path / "_build")
    assert made == tmp_path / "_build" / "singlehtml" / "book.html"
    assert made.read_text() == '<a href="#part">a part</a>'
