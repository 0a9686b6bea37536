"""tools/accessibility.py: what a screen reader says, and what a keyboard reaches."""

from __future__ import annotations

import importlib
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
pytest.importorskip("bs4", reason="jupyter-book is not installed")
accessibility, markup = (importlib.import_module(name) for name in ("accessibility", "markup"))


def improved(text: str) -> str:
    return markup.changed(text, accessibility.improve)


@pytest.mark.parametrize("given, said", [
    ('<button class="btn search-button-field x" title="Find" aria-label="Find"></button>',
     '<button class="btn search-button-field x" title="Find"></button>'),
    ('<summary aria-label="Toggle hidden content">\n<p>Set-up</p></summary>',
     "<summary>\n<p>Set-up</p></summary>"),
    ('<a class="current reference" href="#">The kernels</a><details><summary></summary></details>',
     '<a class="current reference" href="#">The kernels</a><details>'
     '<summary aria-label="Pages of: The kernels"></summary></details>'),
    ('<div class="bd-sidebar" id="pst-primary-sidebar"></div>',
     '<div aria-label="Title, search and contents" class="bd-sidebar" id="pst-primary-sidebar"'
     ' role="complementary"></div>'),
    ('<tr><th class="head text-right"><p></p></th><th class="head"><p>is</p></th></tr>',
     '<tr><td class="head text-right"></td><th class="head"><p>is</p></th></tr>'),
    ('<th class="head"><pre>k</pre></th>', '<th class="head"><pre>k</pre></th>'),
])  # fmt: skip
def test_what_is_changed(given, said):
    assert improved(given) == said
    assert improved(said) == said


@pytest.mark.parametrize("text", [
    '<button aria-label="Search" class="btn search-button"></button>',  # shows an icon alone
    "<details><summary>Solution</summary></details>",
])  # fmt: skip
def test_others_stay(text):
    assert improved(text) == text
