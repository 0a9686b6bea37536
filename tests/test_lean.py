"""tools/lean.py: a page loads less, and shows the same."""

from __future__ import annotations

import importlib
import re
import sys
from types import SimpleNamespace

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
pytest.importorskip("pydata_sphinx_theme", reason="the theme is not installed")
lean = importlib.import_module("lean")


@pytest.mark.parametrize("element", ["i", "span"])
def test_an_icon_is_drawn_with_all_that_its_element_said(element):
    given = (
        f'<{element} class="theme-switch fa-solid fa-moon   fa-lg" data-mode="dark"></{element}>'
    )
    drawn = lean.with_icons(f"<b>{given}</b>")
    assert re.fullmatch(
        r'<b><svg class="svg-inline--fa theme-switch fa-solid fa-moon   fa-lg" data-mode="dark" '
        r'aria-hidden="true" viewBox="0 0 384 512"><path fill="currentColor" d="M[^"]+"/></svg>'
        "</b>",
        drawn,
    )


def test_what_is_no_icon_stays():
    for text in '<i class="fa-no-such-icon"></i>', "<i>word</i>", '<span class="fa-moon">x</span>':
        assert lean.with_icons(text) == text


def test_the_theme_has_the_icons_of_the_buttons():
    for name in "rocket", "code", "pencil-alt", "lightbulb", "bars", "download", "magnifying-glass":
        assert name in lean.shapes()


def test_scripts_come_after_the_page_and_the_icons_script_not_at_all():
    head = (
        '<script src="../_static/scripts/fontawesome.js?digest=1"></script>'
        '<script src="../_static/documentation_options.js?v=1"></script>'
        "<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>"
        '<script data-a="b" src="../_static/design-tabs.js"></script>'
        '<script defer="defer" src="../_static/one.js"></script>'
        '<script src="../_static/two.js" defer></script>'
    )
    less = lean.page(head)
    assert less == head.replace(
        '<script src="../_static/scripts/fontawesome.js?digest=1"></script>', lean.CREDIT
    ).replace('design-tabs.js">', 'design-tabs.js" defer>')
    assert lean.page(less) == less


def test_the_search_keeps_the_order_of_its_scripts():
    head = (
        '<script src="_static/doctools.js"></script><script src="_static/searchtools.js"></script>'
    )
    assert lean.page(head) == head


def test_a_style_loses_the_icons_of_the_font_and_nothing_else():
    css = '.fade{a:b}.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-lg{font-size:2em}'
    assert lean.style(css) == ".fade{a:b}.fa-lg{font-size:2em}"


def test_mathjax_is_known_by_its_script_and_its_settings():
    def script(filename, **attributes):
        return SimpleNamespace(filename=filename, attributes=attributes)

    assert lean.is_mathjax(script("mathjax/startup.js"))
    assert lean.is_mathjax(script(None, body="window.MathJax = {}"))
    assert not lean.is_mathjax(script("print.js"))
