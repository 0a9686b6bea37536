"""The figures that are drawn for a phone first, in a browser: large enough, whole, nothing over
anything else, at three widths, light and dark."""

from __future__ import annotations

import pytest
from test_browser import CUT_OFF, FAINT, complaints
from test_browser_pictures import PAGE
from test_unchanged import PICTURES, for_a_phone

import kernels
from kernels import analysis, draw

# [pixels, words] of every text in a picture that is smaller than 9 pixels
SMALL = """
[...document.querySelectorAll("article text")]
    .map(e => [parseFloat(getComputedStyle(e).fontSize)
               * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b), e.textContent])
    .filter(([size, words]) => words.trim() && size < 9)
"""
# texts that stand out of their picture, or over another text
CROWDED = """
(() => {
    const found = [];
    for (const svg of document.querySelectorAll("article svg")) {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll("text")].filter(e => e.textContent.trim())
            .map(e => [e.textContent, e.getBoundingClientRect()]);
        for (const [n, [words, r]] of texts.entries()) {
            if (r.left < frame.left - 1 || r.right > frame.right + 1
                || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) found.push(words);
            for (const [other, s] of texts.slice(n + 1)) {
                if (r.left < s.right - 1 && s.left < r.right - 1
                    && r.top < s.bottom - 3 && s.top < r.bottom - 3) found.push([words, other]);
            }
        }
    }
    return found;
})()
"""


@pytest.fixture(scope="module")
def pictures():
    """Those of test_unchanged.py that are as wide as a phone, and some of the chapters."""
    step = kernels.step
    return [
        *(picture for name in PICTURES if for_a_phone(picture := PICTURES[name]())),
        draw.ladder(step(23)),
        draw.tiles(step(12), 256, 256, 16),
        draw.limits([step(2), step(3)]),  # all four limits in the legend
        draw.nesting(step(2)),
        draw.outer_product(step(12), 255),
        draw.timeline(12, 13, 14),
        draw.core_matrices(analysis.Descriptor(0, 2048, 128), 128),
        draw.pipeline(step(14).pipeline(128, 128, 32)),
    ]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow), 1440])
def test_figures_are_legible(chromium, pictures, tmp_path, width, mode):
    path = tmp_path / "page.html"
    text = "".join(picture._repr_html_() for picture in pictures)
    path.write_text(PAGE.format(mode=mode, pictures=text), encoding="utf-8")
    chromium.open(path, width=width, mode=mode)
    assert not complaints(chromium.events)
    for at in "min", "max":
        chromium.evaluate(f"""for (const range of document.querySelectorAll("article input")) {{
            range.value = range.{at};
            range.oninput();
        }}""")
        assert not chromium.evaluate(SMALL)
        assert not chromium.evaluate(CROWDED)
        assert not chromium.evaluate(CUT_OFF)
        assert not chromium.evaluate(FAINT)
    count = "document.querySelectorAll('article svg').length"
    assert chromium.evaluate(count) == len(pictures)


def test_they_are_small(pictures):
    for picture in pictures:
        assert len(picture._repr_html_().encode()) < 60_000, picture
