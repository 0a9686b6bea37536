"""anywarp.draw.figure: the HTML of a picture."""

from __future__ import annotations

import base64
import html.parser
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from anywarp.draw.figure import INK, PALETTE, Figure, fitting, from_matplotlib, style, text_colour

ROOT = Path(__file__).parents[3]
SVG = '<svg viewBox="0 0 10 5" width="100"><path d="M0 0h9" stroke="currentColor"/></svg>'


def picture(label="size", title="a title"):
    import matplotlib.pyplot as plt

    with style():
        fig, ax = plt.subplots()
        ax.plot([1, 2, 3], [1, 4, 9], marker="o", color=PALETTE["blue"])
        ax.set_xlabel(label)
        ax.text(2, 2, "in bold", weight="bold")
        ax.text(2, 4, "in blue", color=PALETTE["blue"])
        return from_matplotlib(fig, title, "A caption.")


class Reader(html.parser.HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.setdefault(tag, []).append(dict(attributes))

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        self.words += data


def test_a_figure_is_svg_with_alt_text_caption_and_a_hidden_image():
    page = Reader(Figure(SVG, 'less < "more" & alt', "caption < 1 & more")._repr_html_())
    (svg,), (img,) = page.tags["svg"], page.tags["img"]
    assert svg["role"] == "img" and svg["aria-label"] == img["alt"] == 'less < "more" & alt'
    assert "max-width:100%" in svg["style"] and "height:auto" in svg["style"]
    assert svg["viewbox"] == "0 0 10 5"
    assert "caption < 1 & more" in page.words
    assert ".kernels-figure svg+img{display:none}" in page.words
    assert page.tags["figure"][0]["class"] == "kernels-figure"
    assert "figcaption" not in Figure(SVG, "alt", "")._repr_html_()
    assert repr(Figure(SVG, "what it shows", "c")) == "<Figure: what it shows>"


def test_words_of_a_picture_are_not_seen_where_its_svg_is_taken_out():
    """Where JupyterLab does not trust a notebook, it removes the tags and leaves the words."""
    page = picture()._repr_html_()
    assert "font-size:0" in Reader(page).tags["div"][0]["style"].split(";")
    svg = re.search("<svg.*</svg>", page, re.DOTALL)
    (div,) = re.finditer("<div.*</div>", page, re.DOTALL)
    assert div.start() < svg.start() and svg.end() < div.end()
    root = ET.fromstring(svg[0])
    texts = [node for node in root.iter() if node.tag.endswith("text")]
    assert texts and all("font-size" in ET.tostring(node, "unicode") for node in texts)


def test_a_picture_shrinks_until_its_smallest_text_has_nine_pixels_and_scrolls_then():
    words = '<text font-size="11">a</text><text style="font-size: 10px">b</text>'
    page = Reader(Figure(SVG.replace("<path", words + "<path"), "alt", "")._repr_html_())
    assert "min-width:9px" in page.tags["svg"][0]["style"]  # 10 units across
    (box,) = page.tags["div"]
    assert box["tabindex"] == "0" and "scrolls" in box["aria-label"]
    assert "overflow-x:auto" in box["style"]
    assert "min-width:0px" in fitting(SVG)


def test_the_image_is_the_same_picture_dark_on_white():
    page = Reader(Figure(SVG, "alt", "")._repr_html_())
    kind, data = page.tags["img"][0]["src"].split(",")
    assert kind == "data:image/svg+xml;base64"
    root = ET.fromstring(base64.b64decode(data))
    assert root.get("style") == "color:#1a1a1a;background:#fff"
    assert root[0].get("d") == "M0 0h9"


def test_matplotlib_figure_takes_the_ink_and_font_of_the_page():
    import matplotlib.pyplot as plt

    svg = picture().svg
    assert not plt.get_fignums()  # it is closed
    assert INK not in svg and "#000000" not in svg
    assert svg.count("currentColor") > 10
    assert PALETTE["blue"] in svg
    assert f"fill: {text_colour(PALETTE['blue'])}" in svg
    assert svg.count("font-family") == 1 and "DejaVu" not in svg
    assert ">in bold</text>" in svg and ">size</text>" in svg  # text, not outlines
    root = ET.fromstring(svg)
    assert root.get("width") == "530" and root.get("height") is None
    assert root.get("viewBox") == "0 0 381.6 252"
    fills = re.findall(r"fill: (#\w+)", svg)
    assert "#ffffff" not in fills  # the background is the page's


def test_matplotlib_figure_disturbs_no_other():
    svg, other = picture().svg, picture(title="another").svg
    assert "<style" not in svg and "<metadata" not in svg and "<!--" not in svg
    ids, others = (re.findall(r' id="([^"]+)"', text) for text in (svg, other))
    assert ids and not set(ids) & set(others)
    for id in ids:
        assert f"#{id}" in svg  # no id without a use
    assert set(re.findall(r"#([a-z]\w{10,})", svg)) <= set(ids)  # no use without an id


def test_a_figure_is_the_same_every_time_and_in_every_process():
    code = "from tests.anywarp.draw.test_figure import picture; print(picture()._repr_html_())"
    again = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert again.stdout.strip() == picture()._repr_html_() == picture()._repr_html_()


def test_importing_draw_loads_no_matplotlib():
    code = (
        "import sys, kernels.draw; from kernels.draw import Figure, gflops, roofline; "
        "assert not {'matplotlib', 'cupy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_draw_has_what_it_lists():
    from kernels import draw

    for name in dir(draw):
        assert getattr(draw, name) is getattr(draw, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        draw.nonsense  # noqa: B018


# ---------------------------------------------------------------------- colours


def linear(colour):
    """Linear RGB of "#rrggbb" (IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Contrast ratio of the Web Content Accessibility Guidelines 2.2."""
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", PALETTE)
def test_colours_stand_out_on_light_and_dark_pages_and_below_white_text(name):
    assert contrast(PALETTE[name], "#ffffff") >= 4.5
    assert contrast(PALETTE[name], "#14181e") >= 3


@pytest.mark.parametrize("ink, paper", [("#222832", "#ffffff"), ("#ced6dd", "#14181e")])
@pytest.mark.parametrize("name", PALETTE)
def test_text_in_a_colour_is_legible_on_light_and_dark_pages(name, ink, paper):
    share = int(re.search(r"(\d+)%", text_colour(PALETTE[name]))[1]) / 100
    own, page = ([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (PALETTE[name], ink))
    mixed = "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in zip(own, page))
    assert contrast(mixed, paper) >= 4.5


# What dichromats see, as matrices on linear RGB: G. M. Machado, M. M. Oliveira, L. A. F.
# Fernandes, "A physiologically-based model for simulation of color vision deficiency", IEEE TVCG
# 15(6), 2009, severity 1.
VISION = {
    "all three cones": "1 0 0  0 1 0  0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  "
    "-0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  "
    "-0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  "
    "0.004733 0.691367 0.303900",
}


def lab(rgb):
    """CIELAB of linear RGB, white point D65."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    f = np.cbrt(to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_told_apart(vision):
    cones = np.array(VISION[vision].split(), float).reshape(3, 3)
    seen = {name: lab(cones @ linear(c)) for name, c in PALETTE.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 12, (one, other)
