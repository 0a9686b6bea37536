"""The pages in a browser that reaches no network: quiet, complete, legible, on a phone too."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from building import ROOT
from slow import if_slow

NAMES = sorted(path.stem for kind in ("ipynb", "md") for path in (ROOT / "book").glob(f"*.{kind}"))

UNFOLD = """
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
# Text whose contrast with what is behind it, as WCAG 2 defines it, is less than 4.5. Behind the
# text of a picture is the picture without its text, drawn in the colours of the page.
FAINT = """
(async () => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
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
    const luminance = rgb => rgb.slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (ink, alpha, paper) => {
        const seen = luminance(paper.slice(0, 3).map((c, i) => alpha * ink[i] + (1 - alpha) * c));
        const one = luminance(paper);
        return (Math.max(seen, one) + 0.05) / (Math.min(seen, one) + 0.05);
    };
    const behind = e => {
        while (e && channels(getComputedStyle(e).backgroundColor)[3] < 128) e = e.parentElement;
        return e ? getComputedStyle(e).backgroundColor : "white";
    };
    const drawn = new Map();
    const draw = async svg => {
        const box = svg.viewBox.baseVal, copy = svg.cloneNode(true);
        for (const e of copy.querySelectorAll("text")) e.remove();
        copy.setAttribute("width", box.width);
        copy.setAttribute("height", box.height);
        copy.style.cssText = `color:${getComputedStyle(svg).color};background:${behind(svg)}`;
        const image = new Image(), text = new XMLSerializer().serializeToString(copy);
        image.src = "data:image/svg+xml," + encodeURIComponent(text);
        await image.decode();
        const paper = new OffscreenCanvas(box.width, box.height).getContext("2d");
        paper.drawImage(image, 0, 0);
        return paper.getImageData(0, 0, paper.canvas.width, paper.canvas.height);
    };
    const papers = e => {                                     // at places all over a text
        const svg = e.ownerSVGElement, {data, width, height} = drawn.get(svg);
        const box = e.getBBox(), to = svg.getScreenCTM().inverse().multiply(e.getScreenCTM());
        const {x: left, y: top} = svg.viewBox.baseVal;
        return [0.1, 0.3, 0.5, 0.7, 0.9].flatMap(u => [0.3, 0.5, 0.7].map(v => {
            const at = new DOMPoint(box.x + u * box.width, box.y + v * box.height)
                .matrixTransform(to);
            const x = Math.min(Math.max(Math.floor(at.x - left), 0), width - 1);
            const y = Math.min(Math.max(Math.floor(at.y - top), 0), height - 1);
            return [...data.slice(4 * (y * width + x), 4 * (y * width + x) + 4)];
        }));
    };
    const skipped = "mjx-assistive-mml, script, style, .headerlink";  // unseen, or on hover only
    const found = new Set();
    const texts = document.createTreeWalker(document.querySelector("article"),
                                            NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const e = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
        if (!text || !e.checkVisibility() || e.closest(skipped) || e.disabled) continue;
        const style = getComputedStyle(e), svg = e.ownerSVGElement;
        if (svg && !drawn.has(svg)) drawn.set(svg, await draw(svg));
        const ink = channels(svg ? style.fill : style.color);
        const alpha = ink[3] / 255 * (svg ? style.fillOpacity * style.opacity : 1);
        const grounds = svg ? papers(e) : [channels(behind(e))];
        const all = grounds.map(paper => contrast(ink, alpha, paper)).sort((a, b) => a - b);
        const usual = all[Math.floor(all.length / 2)];        // a line may cross a text
        if (usual < 4.5) found.add(usual.toFixed(1) + " " + text.slice(0, 40));
    }
    return [...found];
})()
"""
# Text of pictures that is too small on the screen.
SMALL = """
[...document.querySelectorAll("article svg text")]
    .filter(e => e.textContent.trim() && e.checkVisibility())
    .map(e => [parseFloat(getComputedStyle(e.querySelector("tspan") ?? e).fontSize)
               * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b), e.textContent])
    .filter(([size]) => size < 8.99).map(([size, text]) => size.toFixed(1) + " " + text)
"""
# Lines of code and output that are cut off: outputs of pages that are not narrow have to fit, other
# lines to scroll, which has to show.
CUT_LINES = """
(() => {
    const seen = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX)
                      && getComputedStyle(e).scrollbarWidth !== "none"
                      && getComputedStyle(e).backgroundImage.includes("gradient");
    const scrolls = e => e && (seen(e) || scrolls(e.parentElement));
    const fits = e => e.scrollWidth <= e.clientWidth + 1;
    const must = innerWidth < 768 ? "none" : ".cell_output .highlight pre"
                 + (innerWidth < 1440 ? "" : ", .cell_input pre, .kernels-box, .kernels-box pre");
    return [...document.querySelectorAll("article :is(pre, .kernels-box)")]
        .filter(e => e.checkVisibility() && !fits(e) && (e.matches(must) || !scrolls(e)))
        .map(e => e.textContent.trim().slice(0, 60));
})()
"""
# Captions that are not set like the text around them.
ODD_CAPTIONS = """
[...document.querySelectorAll("article figcaption")].filter(e => {
    const own = getComputedStyle(e), text = getComputedStyle(e.closest("article"));
    return own.fontWeight !== text.fontWeight || own.color !== text.color
           || !["left", "start"].includes(own.textAlign);
}).map(e => e.textContent.slice(0, 60))
"""
# What a reader with a keyboard or a screen reader would miss: controls without a name, boxes that
# scroll and cannot have the focus, ids that are not unique.
UNREACHABLE = """
(() => {
    const named = e => e.ariaLabel || e.textContent.trim() || e.labels?.length || e.title;
    const ids = [...document.querySelectorAll("article [id]")].map(e => e.id);
    return [
        ...[...document.querySelectorAll("article :is(button, input, select, [tabindex])")]
            .filter(e => e.checkVisibility() && !named(e)).map(e => "no name: " + e.outerHTML),
        ...[...document.querySelectorAll("article .kernels-box")]
            .filter(e => e.tabIndex < 0 || !e.role).map(e => "no focus: " + e.className),
        ...ids.filter((id, n) => ids.indexOf(id) !== n).map(id => "twice: " + id),
    ];
})()
"""
# What has to be scrolled sideways, and a keyboard cannot reach (of code the theme's script sees to
# that); and empty headings of tables.
STUCK = """
[...[...document.querySelectorAll("article *")]
    .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
    .filter(e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
    .filter(e => !e.matches("pre") && e.tabIndex < 0)
    .filter(e => !e.querySelector("a[href], button, input, [tabindex='0']")),
 ...[...document.querySelectorAll("article th")].filter(e => !e.textContent.trim()),
].map(e => e.outerHTML.slice(0, 80))
"""
# Names of controls, anywhere on a page, that a screen reader would say otherwise than they are
# shown, or not at all; and text that stands in no landmark.
MISNAMED = """
(() => {
    const words = text => text.toLowerCase().replace(/[^a-z0-9]+/g, " ").trim();
    const shown = e => e.checkVisibility({visibilityProperty: true});
    const landmarks = "header, footer, main, nav, aside, dialog, [role=complementary], .skip-link";
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), outside = [];
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim(), e = texts.currentNode.parentElement;
        if (text && shown(e) && !e.closest(landmarks + ", script, style, noscript"))
            outside.push("no landmark: " + text);
    }
    const controls = [...document.querySelectorAll("a[href], button, summary")].filter(shown);
    return [
        ...controls.filter(e => !words(e.ariaLabel || e.innerText || e.title || "") &&
                                !e.querySelector("img[alt], svg[aria-label], svg title"))
            .map(e => "no name: " + e.outerHTML.slice(0, 80)),
        ...controls.filter(e => e.ariaLabel && !words(e.ariaLabel).includes(words(e.innerText)))
            .map(e => e.innerText.trim() + " is called " + e.ariaLabel),
        ...outside,
    ];
})()
"""
# What is wider than the paper, or hidden in a box that would have to be scrolled.
PAST_THE_EDGE = """
[...document.querySelectorAll("article *")]
    .filter(e => e.checkVisibility() && !e.closest("mjx-assistive-mml, svg *"))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                 || (e.clientWidth && e.scrollWidth > e.clientWidth + 1
                     && getComputedStyle(e).overflowX !== "visible"))
    .map(e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 60))
"""
# Folded text that paper leaves folded; folded code is left out.
SHUT = "document.querySelectorAll('article details:not([open], .hide)').length"
PAPER = 688  # pixels: the width of A4 without its margins
WIDTHS = (1440, 768, 390)
# Steppers without controls, or with those of another.
BARE_STEPPERS = """
[...document.querySelectorAll("[data-stepper]")]
    .filter(e => e.querySelectorAll("input").length !== 1).map(e => e.dataset.stepper)
"""
BAD_FORMULAS = "document.querySelectorAll('mjx-merror, mjx-mtext[style*=red]').length"


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


def soon(chromium, script: str, seconds: float = 5) -> list[str]:
    """What a script still finds when the theme has had time to follow a change of the width."""
    end = time.monotonic() + seconds
    while (found := chromium.evaluate(script)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=if_slow(n % 8 > 0)) for n, name in enumerate(NAMES)]
)
def test_page(chromium, pages: Path, name: str):
    chromium.open(pages / "book" / f"{name}.html", width=WIDTHS[0], mode="dark")
    assert chromium.evaluate("document.documentElement.dataset.theme") == "dark"
    chromium.evaluate(UNFOLD)
    assert not chromium.evaluate(FAINT)
    assert not chromium.evaluate(ODD_CAPTIONS)
    chromium.evaluate("document.documentElement.dataset.theme = 'light'")
    assert not chromium.evaluate(FAINT)
    assert not chromium.evaluate(ODD_CAPTIONS)
    assert not chromium.evaluate(UNREACHABLE)
    assert not chromium.evaluate(MISNAMED)
    assert not chromium.evaluate(BARE_STEPPERS)
    for width in WIDTHS:
        chromium.resize(width)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        assert not chromium.evaluate(CUT_OFF)
        assert not chromium.evaluate(CUT_LINES)
        assert not chromium.evaluate(SMALL)
        assert not soon(chromium, STUCK)
    assert not complaints(chromium.events)
    assert chromium.evaluate(BAD_FORMULAS) == 0


@pytest.mark.parametrize("name", ["kernels/cuda/06_bank_conflicts", "search"])
def test_pages_beside_the_book_have_names_too(chromium, pages, name):
    chromium.open(pages / f"{name}.html")
    assert not chromium.evaluate(MISNAMED)


@pytest.mark.parametrize("name", ["02_naive", "15_any_shape"])
def test_a_page_that_is_read_in_the_dark_is_printed_on_white(chromium, pages, name):
    chromium.open(pages / "book" / f"{name}.html", width=PAPER, mode="dark")
    chromium.command("Emulation.setEmulatedMedia", media="print")
    try:
        chromium.evaluate("dispatchEvent(new Event('beforeprint'))")
        paper = "getComputedStyle(document.body).backgroundColor"
        assert chromium.evaluate(paper) == "rgb(255, 255, 255)"
        assert not chromium.evaluate(FAINT)
        assert not chromium.evaluate(PAST_THE_EDGE)
        assert chromium.evaluate(SHUT) == 0
        heading = "(h => h.checkVisibility() && h.innerText)(document.querySelector('article h1'))"
        number = f"{int(name[:2])}. "
        assert chromium.evaluate(heading).startswith(number)
        controls = "article :is(button, input, output), .bd-header-article, .bd-sidebar-primary"
        shown = f"[...document.querySelectorAll('{controls}')].filter(e => e.checkVisibility())"
        assert chromium.evaluate(f"{shown}.length") == 0
        kept = "[...document.querySelectorAll('article figure')].map(e => getComputedStyle(e))"
        assert chromium.evaluate(f"{kept}.every(s => s.breakInside === 'avoid')")
        chromium.evaluate("dispatchEvent(new Event('afterprint'))")
        assert chromium.evaluate("document.documentElement.dataset.theme") == "dark"
    finally:
        chromium.command("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("mode", ["auto", "light", "dark"])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_page_is_light_or_dark_before_any_script_is_loaded(chromium, pages, mode, system):
    """Else its colours, and the height of lines of code, change when it has been painted."""
    preferred = [{"name": "prefers-color-scheme", "value": system}]
    chromium.command("Emulation.setEmulatedMedia", features=preferred)
    chromium.command("Network.setBlockedURLs", urls=["*.js*"])
    try:
        chromium.open(pages / "book" / "22_many_gpus.html", mode=mode)
        loaded = chromium.evaluate("typeof DOCUMENTATION_OPTIONS")
        theme = chromium.evaluate("document.documentElement.dataset.theme")
    finally:
        chromium.command("Network.setBlockedURLs", urls=[])
        chromium.command("Emulation.setEmulatedMedia", features=[])
    assert loaded == "undefined" and theme == (system if mode == "auto" else mode)


def test_a_page_does_not_move_when_its_scroll_bar_comes(chromium, pages):
    """Its first lines may be painted before there is anything to scroll to."""
    width = "document.body.getBoundingClientRect().width"
    chromium.open(pages / "book" / "22_many_gpus.html")
    chromium.command("Emulation.setScrollbarsHidden", hidden=False)
    whole = chromium.evaluate(width)
    chromium.evaluate("document.querySelector('article').remove()")
    chromium.evaluate("document.querySelectorAll('.bd-sidebar').forEach(one => one.remove())")
    scrolls = "document.documentElement.scrollHeight > innerHeight"
    shrunk = chromium.evaluate(scrolls), chromium.evaluate(width)
    chromium.command("Emulation.setScrollbarsHidden", hidden=True)
    assert shrunk == (False, whole)


def test_formulas_are_set(chromium, pages):
    chromium.open(pages / "book" / "01_the_problem.html")
    assert chromium.evaluate("document.querySelectorAll('mjx-container').length") > 20
    assert chromium.evaluate("document.fonts.check('12px MJXTEX-I')")


PLANTED = """<!doctype html><html data-theme="light"><body style="margin: 0"><article>
<p style="color: #aaa; background: #fff">faint words</p>
<div style="width: 600px">too wide</div>
<div style="overflow-x: auto"><div style="width: 600px">it scrolls</div></div>
<svg viewBox="0 0 200 40" width="200"><rect width="100" height="40" fill="#666"/>
<text x="5" y="25" font-size="8">small</text><text x="5" y="12" font-size="12">on grey</text>
<text x="120" y="25" font-size="12" fill="#777">grey on white</text>
<text x="120" y="12" font-size="12" fill-opacity="0.3">thin</text></svg>
<pre style="width: 50px; overflow: hidden">a line that is cut off</pre>
<pre style="width: 50px; overflow: auto">a line that scrolls without showing it</pre>
<figcaption style="font-weight: 300">light caption</figcaption>
<figcaption style="text-align: center">centred caption</figcaption>
<div style="width: 50px; overflow: auto"><a href="#">a link that scrolls</a></div>
<table><tr><th></th><th>head</th></tr></table>
<button id="one"></button><i id="one"></i><button aria-label="Search">Ctrl K</button>
<details><summary><i></i></summary></details>
<img alt="missing picture" src="https://example.org/a.png"><script>undefined_name()</script>
</article><main>stands in a landmark</main></body></html>"""


def test_these_checks_see_what_is_wrong(chromium, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PLANTED)
    chromium.open(page, width=400)
    seen = " ".join(complaints(chromium.events))
    assert "undefined_name is not defined" in seen
    assert "request to https://example.org/a.png" in seen
    assert [line.split(": ")[1] for line in chromium.evaluate(CUT_OFF)] == ["too wide"]
    assert chromium.evaluate(FAINT) == [
        "2.3 faint words", "3.7 small", "3.7 on grey", "4.5 grey on white", "2.1 thin",
    ]  # fmt: skip
    assert chromium.evaluate(SMALL) == ["8.0 small"]
    assert len(chromium.evaluate(CUT_LINES)) == 2
    assert len(chromium.evaluate(ODD_CAPTIONS)) == 2
    assert chromium.evaluate(UNREACHABLE) == ['no name: <button id="one"></button>', "twice: one"]
    stuck = " ".join(chromium.evaluate(STUCK))
    assert "it scrolls" in stuck and "a link" not in stuck
    assert stuck.endswith("<th></th>")
    misnamed = chromium.evaluate(MISNAMED)
    assert misnamed[:3] == [
        'no name: <button id="one"></button>', "no name: <summary><i></i></summary>",
        "Ctrl K is called Search",
    ]  # fmt: skip
    assert "no landmark: faint words" in misnamed and "in a landmark" not in str(misnamed)
    assert [line.partition(": ")[2] for line in chromium.evaluate(PAST_THE_EDGE)] == [
        "too wide", "it scrolls", "it scrolls",
        "a line that is cut off", "a line that scrolls without showing it",
    ]  # fmt: skip
