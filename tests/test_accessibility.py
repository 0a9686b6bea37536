"""tools/accessibility.py: what a screen reader says, and what a keyboard reaches."""

from __future__ import annotations

import importlib
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
accessibility = importlib.import_module("accessibility")


@pytest.mark.parametrize("given, said", [
    ('<button class="btn search-button-field x" title="Search" aria-label="Search" data-a="b">',
     '<button class="btn search-button-field x" title="Search" data-a="b">'),
    ('<summary aria-label="Toggle hidden content">\n<p>Set-up</p>',
     "<summary>\n<p>Set-up</p>"),
    ('<a class="current reference internal" href="#">The kernels</a><details open="open"><summary>',
     '<a class="current reference internal" href="#">The kernels</a><details open="open">'
     '<summary aria-label="Pages of: The kernels">'),
    ('<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">',
     '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar" role="complementary"'
     ' aria-label="Title, search and contents">'),
    ('<tr><th class="head text-right"><p></p></th><th class="head"><p>is</p></th></tr>',
     '<tr><td class="head text-right"></td><th class="head"><p>is</p></th></tr>'),
    ('<mjx-container class="MathJax" jax="CHTML" display="true">',
     '<mjx-container tabindex="0" class="MathJax" jax="CHTML" display="true">'),
])  # fmt: skip
def test_what_is_changed(given, said):
    assert accessibility.page(given) == said
    assert accessibility.page(said) == said


@pytest.mark.parametrize("text", [
    '<button class="btn search-button" aria-label="Search"></button>',  # shows an icon alone
    "<details><summary>Solution</summary></details>",
    '<mjx-container class="MathJax" jax="CHTML">',
])  # fmt: skip
def test_others_stay(text):
    assert accessibility.page(text) == text
