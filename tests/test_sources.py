"""tools/sources.py: the page of a kernel is its file, and links lead to it and its regions."""

from __future__ import annotations

import html
import json
import re

import pytest
from test_browser import CUT_LINES, CUT_OFF, FAINT, WIDTHS, complaints

import kernels
from kernels.ladder.source import lines_of_regions

STEPS = kernels.steps()
LINE = '<span id="L-{}">'


def text(markup: str) -> str:
    """What a piece of a page says, without the numbers of lines."""
    markup = re.sub(r'<span class="linenos">.*?</span>', "", markup)
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_a_page_shows_the_file_and_its_regions(pages, step):
    page = (pages / "kernels" / "cuda" / f"{step.id}.html").read_text(encoding="utf-8")
    (code,) = re.findall(r"kernels-source.*?<pre>(.*?)</pre>", page, re.DOTALL)
    assert text(code) == step.source
    assert step.file.title in html.unescape(page)
    lines = len(step.source.splitlines())
    assert [code.count(LINE.format(n)) for n in range(lines + 2)] == [0, *[1] * lines, 0]
    for name in step.file.regions:
        place = f"{name}-{step.id[:2]}"  # of all pages together, too, there is one
        assert f'href="#{place}"' in page
        first, end = lines_of_regions(step.id, step.source)[name]
        _, _, rest = code.partition(f'<span id="{place}">{LINE.format(first + 1)}')
        inside, _, _ = rest.partition(f"</span>{LINE.format(end + 1)}")
        assert text(inside).splitlines() == step.source.splitlines()[first:end]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_its_chapter_and_the_ladder_lead_there(pages, step):
    for name in {step.id, "index", "kernels"}:
        page = (pages / "book" / f"{name}.html").read_text(encoding="utf-8")
        article = page[page.index("<article") : page.index("</article")]
        assert f'href="../kernels/cuda/{step.id}.html' in article, name


def test_it_is_found_by_what_only_a_kernel_says(pages):
    text = (pages / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    hits = index["terms"]["lane_row"]
    assert "kernels/cuda/12_warp_tiling" in {index["docnames"][n] for n in hits}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_page_is_read_on_a_phone_too(chromium, pages, mode):
    page = pages / "kernels" / "cuda" / "12_warp_tiling.html"
    for width in WIDTHS:
        chromium.open(page, width=width, mode=mode)
        assert not complaints(chromium.events)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        assert not chromium.evaluate(CUT_OFF)
        assert not chromium.evaluate(CUT_LINES)
    assert not chromium.evaluate(FAINT)
    chromium.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    chromium.evaluate("document.querySelector('article a[href=\"#store-12\"]').click()")
    seen = """(e => { const r = e.getBoundingClientRect();
        return [e.matches(":target"), r.top > 0 && r.bottom < innerHeight,
                getComputedStyle(e).backgroundColor]; })(document.getElementById("store-12"))"""
    target, inside, colour = chromium.evaluate(seen)
    assert target and inside and colour != "rgba(0, 0, 0, 0)"
    assert not chromium.evaluate(FAINT)
