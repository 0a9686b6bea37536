"""tools/page_weight.py: a page loads less, and shows the same."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
from building import ROOT

sys.path.insert(0, str(ROOT / "tools"))
missing = importlib.util.find_spec("pydata_sphinx_theme") is None
pytestmark = pytest.mark.skipif(missing, reason="the theme is not installed")


@pytest.fixture(scope="module")
def page_weight():
    """Not before a test needs it: the theme brings all of Sphinx."""
    return importlib.import_module("page_weight")


def as_built(html: str) -> str:
    """What stands in a page of the build for this HTML, such as the output of a cell."""
    pytest.importorskip("pydata_sphinx_theme", reason="the theme is not installed")
    reduce = importlib.import_module("page_weight").reduce
    return importlib.import_module("markup").changed(html, reduce)


@pytest.mark.parametrize("element", ["i", "span"])
def test_an_icon_is_drawn_with_all_that_its_element_said(element):
    given = (
        f'<{element} class="theme-switch fa-solid fa-moon   fa-lg" data-mode="dark"></{element}>'
    )
    drawn = as_built(f"<b>{given}</b>")
    assert re.fullmatch(
        r'<b><svg aria-hidden="true" class="svg-inline--fa theme-switch fa-solid fa-moon fa-lg" '
        r'data-mode="dark" viewBox="0 0 384 512"><path d="M[^"]+" fill="currentColor"></path></svg>'
        "</b>",
        drawn,
    )


def test_what_is_no_icon_stays():
    for text in '<i class="fa-no-such-icon"></i>', "<i>word</i>", '<span class="fa-moon">x</span>':
        assert as_built(text) == text


def test_the_theme_has_the_icons_of_the_buttons(page_weight):
    for name in "rocket", "code", "pencil-alt", "lightbulb", "bars", "download", "magnifying-glass":
        assert name in page_weight.shapes()


def test_scripts_come_after_the_page_and_the_icons_script_not_at_all(page_weight):
    head = (
        '<script src="../_static/scripts/fontawesome.js?digest=1"></script>'
        '<script src="../_static/documentation_options.js?v=1"></script>'
        "<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>"
        '<script data-a="b" src="../_static/design-tabs.js"></script>'
        '<script defer="defer" src="../_static/one.js"></script>'
        '<script src="../_static/two.js" defer></script>'
    )
    less = as_built(head)
    assert less == (
        f"<!-- {page_weight.CREDIT} -->"
        '<script src="../_static/documentation_options.js?v=1"></script>'
        "<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>"
        '<script data-a="b" defer="" src="../_static/design-tabs.js"></script>'
        '<script defer="" src="../_static/one.js"></script>'
        '<script defer="" src="../_static/two.js"></script>'
    )
    assert as_built(less) == less


def test_the_theme_has_the_line_that_leaves_light_or_dark_to_a_later_script(page_weight):
    layout = page_weight.ICONS.parents[2] / "layout.html"
    line = page_weight.THEME.replace('"auto"', '"{{ default_mode }}"')
    assert layout.read_text(encoding="utf-8").count(line) == 1


def test_the_search_keeps_the_order_of_its_scripts():
    head = (
        '<script src="_static/doctools.js"></script><script src="_static/searchtools.js"></script>'
    )
    assert as_built(head) == head


MATHJAX = (
    '<script>window.MathJax = {"options": {"processHtmlClass": "tex2jax_process|math"}}</script>\n'
    '<script defer="" src="../_static/mathjax/startup.js?v=1"></script>\n'
)


def formula(tex, name="span"):
    return f'<{name} class="math notranslate nohighlight">{tex}</{name}>'


def test_a_page_whose_formulas_were_set_needs_no_mathjax(page_weight, monkeypatch):
    known = {r"\(a < b\)": "<mjx-container>one</mjx-container>", "\\[\\frac12\\]": "two"}
    monkeypatch.setattr(page_weight.formulas, "stored", lambda: known)
    text = MATHJAX + formula(r"\(a &lt; b\)") + formula("\n\\[\\frac12\n\\]", "div")
    expected = formula("<mjx-container>one</mjx-container>") + formula("two", "div")
    assert as_built(text).strip() == expected
    new = formula(r"\(c\)")
    assert as_built(text + new) == MATHJAX + expected + new
    for name in "output_area", "tex2jax_process":  # MathJax looks into these for formulas, too
        other = f'<div class="cell {name}">$x$</div>'
        assert as_built(MATHJAX + other) == MATHJAX + other
    assert as_built(MATHJAX + "<p>No formula.</p>").strip() == "<p>No formula.</p>"


def test_pictures_stand_in_the_page_once():
    from kernels.draw import Figure

    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0"/></svg>'
    page = as_built(Figure(svg, "less < more", "See.")._repr_html_())
    assert "<img" not in page and page.count('<path d="M0 0"/>') == 1
    assert 'aria-label="less &lt; more"' in page


def test_steppers_are_drawn_in_the_page():
    from anywarp.draw import stepper

    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M{} 0"/></svg>'
    page = as_built(stepper([svg.format(n) for n in (1, 2)], "ab", "Both.")._repr_html_())
    assert "<img" not in page
    drawing = r'<svg aria-label="Both." role="img" style="display:block[^>]*>'
    assert re.search(rf'{drawing}<path d="M1 0"/></svg>', page)
    assert as_built(page) == page


def test_a_page_has_one_stylesheet_with_all_that_its_own_said(page_weight, tmp_path):
    markup = importlib.import_module("markup")
    static, page = tmp_path / "_static", tmp_path / "book" / "page.html"
    (static / "styles").mkdir(parents=True)
    (static / "basic.css").write_text("a {background: url(file.png)}")
    (static / "styles" / "theme.css").write_text(
        '@charset "UTF-8";@import "../basic.css";\nb {src: url("../fonts/x.woff")}'
    )
    (static / "last.css").write_text("i {src: url('data:image/png;base64,AA==')}")
    links = '<link href="../_static/{}" rel="stylesheet"/>'
    given = links.format("styles/theme.css?digest=1") + links.format("last.css?v=2")
    made = markup.changed(given, lambda it: page_weight.join_styles(it, page, static))
    (joined,) = static.glob("all-*.css")
    assert made == links.format(joined.name)
    assert joined.read_text().split("\n") == [
        'a {background: url("file.png")}',
        'b {src: url("fonts/x.woff")}',
        "i {src: url('data:image/png;base64,AA==')}",
    ]


SHEET = """
.card, .used {a: b}
.unused .used {a: b}
.used:not(.unused)[data-x=".unused"] > a {a: b}
.bs-tooltip-top {a: b}
.col-1\\/2 {a: b}
#main #missing {a: b}
p {a: b}
@media (width > 9px) { .unused {a: b} }
@media (width > 8px) { .unused {a: b} .used {a: b} }
@font-face {font-family: "unused"}
"""


def test_rules_for_what_nothing_names_are_left_out(page_weight, tmp_path):
    static, page = tmp_path / "_static", tmp_path / "page.html"
    static.mkdir()
    (static / "all-1.css").write_text(SHEET)
    (static / "script.min.js").write_text("e.className = 'bs-tooltip-' + side")
    (static / "not_loaded.js").write_text("'unused missing'")
    page.write_text(
        '<link href="_static/all-1.css"><script src="_static/script.min.js"></script>'
        '<main id="main" class="used"></main>'
    )
    page_weight.prune_styles([page], static)
    (sheet,) = static.glob("all-*.css")
    assert f'href="_static/{sheet.name}"' in page.read_text() and sheet.name != "all-1.css"
    left = sheet.read_text()
    assert left.count("unused") == 3  # in :not(), in a value and in a font
    for gone in ".unused .used", "#missing", "width > 9px":
        assert gone not in left
    for kept in ".card, .used", ".used:not(", ".bs-tooltip-top", ".col-1", "p {", "width > 8px":
        assert kept in left
