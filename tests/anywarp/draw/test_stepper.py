"""Steppers: the HTML, what is in it once, what for each frame."""

import base64
import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anywarp.draw import Figure, Stepper, side_by_side, stepper
from anywarp.draw.stepper import differences

ROOT = Path(__file__).parents[3]


def frame(*parts):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{"".join(parts)}</svg>'


def cell(x, fill="none", words=""):
    return f'<rect x="{x}" y="0" width="4" height="4" fill="{fill}"/><text>{words}</text>'


LONG = ["M0 0h1000000000000", "M1 1h2000000000000"]


def test_only_what_differs_is_stored():
    frames = [
        frame(cell(1, words="a"), cell(5)),
        frame(cell(1, words="b"), cell(5, "red")),
        frame(cell(1, words="a"), cell(5)),
    ]
    found = {(name, tuple(nodes)): rest for nodes, name, *rest in differences(frames)}
    assert found == {("", (2,)): [["a", "b", "a"]], ("fill", (3,)): [["none", "red", "none"]]}


@pytest.mark.parametrize(
    "frames, found",
    [
        # nodes that change together are one entry, and numbers are numbers
        ([frame(cell(x), cell(x)) for x in (1, 2, 3)], [[[1, 3], "x", [1, 2, 3]]]),
        # long values are stored once
        (
            [frame(f'<path d="{LONG[k % 2]}"/>') for k in range(6)],
            [[[1], "d", LONG, [0, 1, 0, 1, 0, 1]]],
        ),
        # an attribute that comes and goes
        ([frame("<g/>"), frame('<g id="a"/>')], [[[1], "id", [None, "a"]]]),
    ],
)
def test_what_differs_is_stored_shortly(frames, found):
    assert differences(frames) == found


def test_frames_of_another_structure_are_stored_as_a_whole_and_later_nodes_keep_their_number():
    frames = [frame("<g><rect/><rect/></g>", cell(1)), frame('<g><path d="M0 0"/></g>', cell(2))]
    (inner, name, values), position = differences(frames)
    assert (inner, name) == ([1], "<")
    assert values == ["<rect /><rect />", '<path d="M0 0" />']
    assert position == [[4], "x", [1, 2]]  # 0 svg, 1 g, 2 and 3 its first children


class Reader(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.inside, self.script = [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_data(self, data):
        if self.inside == "script":
            self.script += data


def arguments(page):
    """What a page's script is called with."""
    return json.loads("[" + re.search(r'\)\(("\w{12}".*)\)$', Reader(page).script)[1] + "]")


FRAMES = [frame(cell(x, words="&lt;/script>")) for x in range(3)]


def test_html_has_the_first_frame_as_an_image_and_one_script():
    labels = ["one </script>", "two", "three"]
    made = stepper(FRAMES, labels, 'less < "more"', "see < this", "loads of A")
    assert isinstance(made, Stepper) and len(made) == 3
    page = made._repr_html_()
    reader = Reader(page)
    tags = ["figure", "div", "div", "img", "figcaption", "script"]
    assert [tag for tag, _ in reader.tags] == tags
    img = dict(reader.tags)["img"]
    (holder,) = (found for tag, found in reader.tags if "data-stepper" in found)
    assert img["alt"] == 'less < "more"'
    drawing = base64.b64decode(img["src"].partition("base64,")[2]).decode()
    assert drawing.startswith('<svg style="color:#1a1a1a;background:#fff"')
    assert drawing.replace(' style="color:#1a1a1a;background:#fff"', "") == FRAMES[0]
    assert page.count("</script>") == 1 and "see &lt; this" in page
    key, what, (panel,), titles = arguments(page)
    assert (key, what) == (holder["data-stepper"], "loads of A")
    assert panel[0] == ["one </script>", "two", "three"] and titles == []
    assert " id=" not in page and "http" not in re.sub(r'src="[^"]*"', "", page)


def test_keys_tell_pictures_apart_and_are_the_same_every_time():
    def key(labels):
        return re.search(r'data-stepper="(\w+)"', stepper(FRAMES, labels, "alt")._repr_html_())[1]

    assert key("abc") == key("abc") != key("abd")
    here = "tests.anywarp.draw.test_stepper"
    code = f"from {here} import *; print(stepper(FRAMES, 'abc', 'alt')._repr_html_())"
    again = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert again.stdout.strip() == stepper(FRAMES, "abc", "alt")._repr_html_()


def test_frames_may_be_figures_and_one_can_be_taken_out():
    made = stepper([Figure(svg, "alt", "") for svg in FRAMES], "abc", "All.", "What to see.")
    assert made[1] == Figure(FRAMES[1], "All. b.", "b. What to see.")
    assert repr(made) == "<Stepper of 3: All.>"


def test_what_is_refused():
    for frames, labels in (FRAMES, "ab"), ([], []):
        with pytest.raises(ValueError, match=f"{len(frames)} frames and {len(labels)} labels"):
            stepper(frames, labels, "alt")
    large = [frame(f"<text>{k}{'x' * 30_000}</text>") for k in range(3)]
    with pytest.raises(ValueError, match="3 frames take .* more than 60000: show fewer"):
        stepper(large, "abc", "alt")
    one = stepper(FRAMES, "abc", "alt")
    with pytest.raises(ValueError, match="nothing to stand beside"):
        side_by_side({"a": one})
    with pytest.raises(TypeError, match="'b' is a Figure, not a stepper"):
        side_by_side({"a": one, "b": Figure(FRAMES[0], "alt", "")})
    half = stepper([text.replace("x" * 18_000, "") for text in large], "abc", "alt")
    with pytest.raises(ValueError, match="6 frames take .* more than 60000: show fewer"):
        side_by_side({"a": half, "b": half})


# ---------------------------------------------------------------------- side by side


def made(labels, caption, what="loads"):
    return stepper(FRAMES[: len(labels)], labels, "All.", caption, what)


def test_each_has_a_title_and_a_drawing_and_all_have_one_script():
    both = side_by_side({"a < b": made("xyz", "See."), "swizzle": made("pq", "See.", "stores")})
    page = both._repr_html_()
    tags = [tag for tag, _ in Reader(page).tags]
    assert [tags.count(tag) for tag in ("figure", "img", "script", "figcaption")] == [1, 2, 1, 1]
    assert 'alt="a &lt; b: All."' in page and ">swizzle</div>" in page
    _, what, panels, titles = arguments(page)
    assert what == "loads and stores" and titles == ["a < b", "swizzle"]
    assert [labels for labels, _ in panels] == [["x", "y", "z"], ["p", "q"]]
    assert [slots for _, slots in panels] == [[[[1], "x", [0, 1, 2]]], [[[1], "x", [0, 1]]]]
    assert repr(both) == "<Side by side. a < b: All.; swizzle: All.>"


@pytest.mark.parametrize(
    "captions, shown",
    [
        (["See.", "See."], "See."),
        (["See.", "Look."], "0: See.\n1: Look."),
        (["One. See.", "Two. See."], "0: One.\n1: Two.\nSee."),
    ],
)
def test_the_same_caption_is_said_once_and_others_with_their_titles(captions, shown):
    both = side_by_side({str(n): made("xy", words) for n, words in enumerate(captions)})
    found = re.search("<figcaption[^>]*>(.*?)</figcaption>", both._repr_html_(), re.DOTALL)
    assert found[1] == shown


def test_each_stands_beside_the_other_where_there_is_room_for_both():
    wide = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} 9" font-size="12"/>'
    both = side_by_side({str(w): stepper([wide.format(w)] * 2, "xy", "") for w in (360, 676)})
    assert re.findall(r"flex:1 1 (\d+)px", both._repr_html_()) == ["270", "507"]
