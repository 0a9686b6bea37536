"""The built book: every page is there, every link leads somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import functools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from building import ROOT, build_book

BOOK = ROOT / "book"
CHAPTERS = sorted(path.stem for path in BOOK.glob("[0-9][0-9]_*.ipynb"))
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The ids, the links, the loaded files and the pictures of one page."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.pictures: list[dict[str, str]] = []
        text = path.read_text(encoding="utf-8")
        # Most of a page is the inside of drawings and coloured code, where nothing is looked for.
        text = re.sub(r"(<svg\b[^>]*>).*?(?=</svg>)", r"\1", text, flags=re.DOTALL)
        self.feed(re.sub(r'<span(?: class="[^"]*")?>|</span>', "", text))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag) in found:
            self.loaded.append(found[LOADED[tag]])
        if tag in ("img", "svg") and found.get("aria-hidden") != "true":
            self.pictures.append({"tag": tag, **found})


@functools.cache
def read(path: Path) -> Page:
    return Page(path)


def all_pages(pages: Path) -> list[Path]:
    return sorted([*pages.glob("book/*.html"), *pages.glob("kernels/cuda/*.html")])


def test_every_chapter_is_a_page_in_the_table_of_contents(pages):
    assert CHAPTERS
    index = read(pages / "book" / "index.html")
    for name in [*CHAPTERS, *(path.stem for path in BOOK.glob("*.md"))]:
        assert (pages / "book" / f"{name}.html").is_file()
        assert f"{name}.html" in index.links or name == "index"


def test_links_lead_somewhere(pages):
    broken = []
    for path in [*pages.glob("*.html"), *all_pages(pages)]:
        page = read(path)
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path.name}: {link}: no such file")
            elif parts.fragment and target.suffix == ".html":
                if unquote(parts.fragment) not in read(target).ids:
                    broken.append(f"{path.name}: {link}: no such place on the page")
    assert not broken


def test_what_the_styles_load_is_there(pages):
    """Fonts and pictures."""
    missing, found = [], 0
    for path in (pages / "_static").rglob("*.css"):
        for url in re.findall(r"url\([\"']?([^)\"']+)", path.read_text(encoding="utf-8")):
            if not url.startswith(("data:", "#")):
                found += 1
                if not (path.parent / unquote(urlsplit(url).path)).exists():
                    missing.append(f"{path.name}: {url}")
    assert found and not missing


def test_icons_are_in_the_page_and_their_script_is_not(pages):
    """It has 1.5 MB, and the page waits for it."""
    for path in [*pages.glob("*.html"), *all_pages(pages)]:
        text = path.read_text(encoding="utf-8")
        assert "fontawesome.js" not in text, path.name
        assert not re.search(r'<(?!svg)\w+\s[^>]*class="[^"]*\bfa-', text), path.name
    assert 'class="svg-inline--fa fas fa-download"' in text


def test_every_page_says_what_it_is_about(pages):
    """In the description that search engines show."""
    described = {}
    for path in all_pages(pages):
        found = re.findall(r'<meta content="([^"]+)" name="description"', path.read_text("utf-8"))
        assert len(found) == 1 and 40 <= len(found[0]) <= 260, (path.name, found)
        described[found[0]] = path.name
    assert len(described) == len(all_pages(pages))


def test_pages_have_buttons_where_the_book_has_an_address(pages):
    address = json.loads((ROOT / "tools" / "address.json").read_text("utf-8"))
    page = (pages / "book" / "02_naive.html").read_text("utf-8")
    for mark in "launch-buttons", "source-edit-button", "https://github.com/", 'rel="canonical"':
        assert (mark in page) <= bool(address["repository"]), mark


def test_nothing_is_loaded_from_elsewhere(pages):
    for path in all_pages(pages):
        foreign = [
            url
            for url in read(path).loaded
            if urlsplit(url).netloc or urlsplit(url).scheme not in ("", "data")
        ]
        assert not foreign, path.name


def test_every_picture_has_alt_text(pages):
    for path in all_pages(pages):
        for picture in read(path).pictures:
            text = picture.get("alt") if picture["tag"] == "img" else picture.get("aria-label")
            assert text and len(text) > 10, (path.name, {**picture, "src": "..."})


WRONG = {
    "[a region](../kernels/cuda/01_first.cu#no_such_region)": "no_such_region",
    "[a link](no_such_page.md)": "no_such_page",
    "[a source](references.md#nobody1900)": "nobody1900",
    "{ref}`no-such-label`": "no-such-label",
}


def test_each_of_these_is_a_warning_and_fails_the_build(tmp_path):
    """And what stands beside them, a sound link of each kind, is none."""
    pytest.importorskip("jupyter_book", reason="jupyter-book is not installed")
    source = tmp_path / "source"
    shutil.copytree(BOOK / "assets", source / "book" / "assets")
    for name in "_config.yml", "_toc.yml":
        shutil.copy(ROOT / name, source / name)
    higham = "# References\n\n## Books\n\n### higham2002\n"
    (source / "book" / "references.md").write_text(higham)
    for name in re.findall(r"file: book/(\w+)", (ROOT / "_toc.yml").read_text()):
        if not (source / "book" / f"{name}.md").exists():
            (source / "book" / f"{name}.md").write_text(f"# {name}\n")
    for pattern in re.findall(r"glob: book/(\S+)", (ROOT / "_toc.yml").read_text()):
        name = re.sub(r"\[(.)-.\]", r"\1", pattern).replace("*", "other")  # that it matches
        (source / "book" / f"{name}.md").write_text(f"# {name}\n")
    (source / "kernels" / "cuda").mkdir(parents=True)
    shutil.copy(ROOT / "kernels/cuda/02_naive.cu", source / "kernels" / "cuda" / "01_first.cu")
    (source / "book" / "index.md").write_text("# Title\n\n[Higham](references.md#higham2002)\n")
    texts = ["# First", "[sound](../kernels/cuda/01_first.cu#store)", *WRONG]
    (source / "book" / "01_first.md").write_text("\n\n".join(texts))
    build = build_book(source, tmp_path)
    assert build.returncode != 0, build.stderr
    warnings = re.findall(r"WARNING: .*", build.stderr)
    assert len(warnings) == len(WRONG), warnings
    for complaint in WRONG.values():
        assert sum(complaint in line for line in warnings) == 1, warnings
