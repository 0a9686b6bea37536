"""The pages in a browser that reaches no network: quiet, complete, legible, on a phone too."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
from building import ROOT

NAMES = sorted(path.stem for kind in ("ipynb", "md") for path in (ROOT / "book").glob(f"*.{kind}"))

UNFOLD = """
document.querySelectorAll(".toggle-hidden > .admonition-title").forEach(title => title.click());
document.querySelectorAll("article details").forEach(details => { details.open = true; });
"""
# What reaches past the window and is not inside something that scrolls sideways.
CUT_OFF = """
(() => {
    const scrolls = e => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX)
                               || scrolls(e.parentElement));
    return [...document.querySelectorAll("article *")]
        .filter(e => e.checkVisibility() && !e.closest("mjx-assistive-mml"))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .filter(e => !scrolls(e.closest("svg")?.parentElement ?? e))
        .map(e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 60));
})()
"""
# Text whose contrast with what is behind it, as WCAG 2 defines it, is less than 4.5; in pictures,
# where labels have the colour of what they name, less than 3.
FAINT = """
(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    const known = new Map();
    const channels = color => {
        if (!known.has(color)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
            known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(color);
    };
    const luminance = color => channels(color).slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = e => {
        while (e && channels(getComputedStyle(e).backgroundColor)[3] < 128) e = e.parentElement;
        return e ? getComputedStyle(e).backgroundColor : "white";
    };
    const skipped = "mjx-assistive-mml, script, style, .headerlink";  // unseen, or on hover only
    const found = new Set();
    const article = document.querySelector("article");
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const e = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
        if (!text || !e.checkVisibility() || e.closest(skipped)) continue;
        const style = getComputedStyle(e);
        const ink = luminance(e.closest("svg") ? style.fill : style.color);
        const ground = e.closest("[data-ground]");  // text within a shape names the shape's colour
        const paper = luminance(ground ? ground.dataset.ground : behind(e));
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (contrast >= (e.closest("svg") ? 3 : 4.5)) continue;
        found.add(contrast.toFixed(1) + " " + text.slice(0, 40));
    }
    return [...found];
})()
"""
BAD_FORMULAS = "document.querySelectorAll('mjx-merror, mjx-mtext[style*=red]').length"


@pytest.fixture(scope="module")
def chromium():
    if browser.executable() is None:
        pytest.skip("no Chromium or Chrome on the path")
    with browser.Browser() as tab:
        yield tab


def complaints(events: list[dict]) -> list[str]:
    """What went wrong on a page: errors, warnings, failed requests, requests that leave."""
    found = []
    for event in events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            found.append(str([argument.get("value") for argument in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            found.append(params["exceptionDetails"]["exception"]["description"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            found.append(params["entry"]["text"])
        elif method == "Network.loadingFailed" and not params.get("canceled"):
            found.append(params["errorText"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:")):
                found.append(f"request to {url}")
    return found


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_page(chromium, pages: Path, name: str, mode: str):
    for width in 1280, 400:
        chromium.open(pages / "book" / f"{name}.html", width=width, mode=mode)
        assert chromium.evaluate("document.documentElement.dataset.theme") == mode
        chromium.evaluate(UNFOLD)
        assert chromium.evaluate("document.querySelectorAll('.toggle-hidden').length") == 0
        assert not complaints(chromium.events)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        assert not chromium.evaluate(CUT_OFF)
        assert chromium.evaluate(BAD_FORMULAS) == 0
    assert not chromium.evaluate(FAINT)


def test_formulas_are_set(chromium, pages):
    chromium.open(pages / "book" / "01_the_problem.html")
    assert chromium.evaluate("document.querySelectorAll('mjx-container').length") > 20
    assert chromium.evaluate("document.fonts.check('12px MJXTEX-I')")


PLANTED = """<!doctype html><html data-theme="light"><body style="margin: 0"><article>
<p style="color: #aaa; background: #fff">faint words</p>
<div style="width: 600px">too wide</div>
<div style="overflow-x: auto"><div style="width: 600px">it scrolls</div></div>
<img alt="missing picture" src="https://example.org/a.png"><script>undefined_name()</script>
</article></body></html>"""


def test_these_checks_see_what_is_wrong(chromium, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PLANTED)
    chromium.open(page, width=400)
    seen = " ".join(complaints(chromium.events))
    assert "undefined_name is not defined" in seen
    assert "request to https://example.org/a.png" in seen
    assert [line.split(": ")[1] for line in chromium.evaluate(CUT_OFF)] == ["too wide"]
    assert chromium.evaluate(FAINT) == ["2.3 faint words"]
