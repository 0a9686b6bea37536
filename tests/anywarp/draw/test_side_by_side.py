"""Steppers that move together: what the HTML has once, what for each, and what is refused."""

import json
import re

import pytest
from test_stepper import FRAMES, Reader

from anywarp.draw import side_by_side, stepper
from kernels.draw import Figure


def made(labels, caption, what="loads"):
    return stepper(FRAMES[: len(labels)], labels, "All.", caption, what)


def arguments(page):
    return json.loads("[" + re.search(r'\)\(("\w{12}".*)\)$', Reader(page).script)[1] + "]")


def test_each_has_a_title_and_a_drawing_and_all_have_one_script():
    both = side_by_side({"a < b": made("xyz", "See."), "swizzle": made("pq", "See.")})
    page = both._repr_html_()
    tags = [tag for tag, _ in Reader(page).tags]
    assert [tags.count(tag) for tag in ("figure", "img", "script", "figcaption")] == [1, 2, 1, 1]
    assert 'alt="a &lt; b: All."' in page and ">swizzle</div>" in page
    key, what, panels, titles = arguments(page)
    assert what == "loads" and titles == ["a < b", "swizzle"]
    assert [labels for labels, _ in panels] == [["x", "y", "z"], ["p", "q"]]
    assert [slots for _, slots in panels] == [[[[1], "x", [0, 1, 2]]], [[[1], "x", [0, 1]]]]
    assert both["swizzle"].labels == ("p", "q")
    assert repr(both) == "<Side by side. a < b: All.; swizzle: All.>"


def test_the_same_caption_is_said_once_and_others_with_their_titles():
    def caption(*captions):
        both = side_by_side({str(n): made("xy", words) for n, words in enumerate(captions)})
        return re.search("<figcaption[^>]*>(.*?)</figcaption>", both._repr_html_(), re.DOTALL)[1]

    assert caption("See.", "See.") == "See."
    assert caption("See.", "Look.") == "0: See.\n1: Look."


def test_the_slider_is_named_after_all_that_it_moves():
    both = side_by_side({"a": made("xy", ""), "b": made("xy", "", "stores")})
    assert arguments(both._repr_html_())[1] == "loads and stores"


def test_each_stands_beside_the_other_where_there_is_room_for_both():
    wide = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} 9" font-size="12"/>'
    both = side_by_side({str(w): stepper([wide.format(w)] * 2, "xy", "") for w in (360, 676)})
    assert re.findall(r"flex:1 1 (\d+)px", both._repr_html_()) == ["270", "507"]


def test_what_is_refused():
    one = made("xyz", "")
    with pytest.raises(ValueError, match="nothing to stand beside"):
        side_by_side({"a": one})
    with pytest.raises(TypeError, match="'b' is a Figure, not a stepper"):
        side_by_side({"a": one, "b": Figure(FRAMES[0], "alt", "")})
    large = [FRAMES[0].replace("</text>", f"{k}{'x' * 12_000}</text>") for k in range(3)]
    half = stepper(large, "abc", "alt")
    with pytest.raises(ValueError, match="6 frames take .* more than 60000: show fewer"):
        side_by_side({"a": half, "b": half})
