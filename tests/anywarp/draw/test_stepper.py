"""Steppers: the HTML, what is in it once, what for each frame."""

import base64
import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anywarp.draw import stepper
from anywarp.draw.stepper import differences
from kernels.draw import Figure, Stepper

ROOT = Path(__file__).parents[3]


def frame(*parts):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{"".join(parts)}</svg>'


def cell(x, fill="none", words=""):
    return f'<rect x="{x}" y="0" width="4" height="4" fill="{fill}"/><text>{words}</text>'


def test_only_what_differs_is_stored():
    frames = [
        frame(cell(1, words="a"), cell(5)),
        frame(cell(1, words="b"), cell(5, "red")),
        frame(cell(1, words="a"), cell(5)),
    ]
    found = {(name, tuple(nodes)): rest for nodes, name, *rest in differences(frames)}
    assert found == {("", (2,)): [["a", "b", "a"]], ("fill", (3,)): [["none", "red", "none"]]}


def test_nodes_that_change_together_are_one_entry_and_numbers_are_numbers():
    frames = [frame(cell(x), cell(x)) for x in (1, 2, 3)]
    assert differences(frames) == [[[1, 3], "x", [1, 2, 3]]]


def test_long_values_are_stored_once():
    long = ["M0 0h1000000000000", "M1 1h2000000000000"]
    frames = [frame(f'<path d="{long[k % 2]}"/>') for k in range(6)]
    assert differences(frames) == [[[1], "d", long, [0, 1, 0, 1, 0, 1]]]


def test_an_attribute_that_comes_and_goes():
    assert differences([frame("<g/>"), frame('<g id="a"/>')]) == [[[1], "id", [None, "a"]]]


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


FRAMES = [frame(cell(x, words="&lt;/script>")) for x in range(3)]


def test_html_has_the_first_frame_as_an_image_and_one_script():
    labels = ["one </script>", "two", "three"]
    made = stepper(FRAMES, labels, 'less < "more"', "see < this", "loads of A")
    assert isinstance(made, Stepper) and len(made) == 3
    page = made._repr_html_()
    reader = Reader(page)
    assert [tag for tag, _ in reader.tags] == [
        "figure",
        "div",
        "div",
        "img",
        "figcaption",
        "script",
    ]
    img = dict(reader.tags)["img"]
    (holder,) = (found for tag, found in reader.tags if "data-stepper" in found)
    assert img["alt"] == 'less < "more"'
    drawing = base64.b64decode(img["src"].partition("base64,")[2]).decode()
    assert drawing.startswith('<svg style="color:#1a1a1a;background:#fff"')
    assert drawing.replace(' style="color:#1a1a1a;background:#fff"', "") == FRAMES[0]
    assert page.count("</script>") == 1 and "see &lt; this" in page
    arguments = json.loads("[" + re.search(r'\)\(("\w{12}".*)\)$', reader.script)[1] + "]")
    assert arguments[:2] == [holder["data-stepper"], "loads of A"]
    (panel,) = arguments[2]
    assert panel[0] == ["one </script>", "two", "three"] and arguments[3] == []
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
    with pytest.raises(ValueError, match="3 frames and 2 labels"):
        stepper(FRAMES, "ab", "alt")
    with pytest.raises(ValueError, match="0 frames"):
        stepper([], [], "alt")
    large = [frame(f"<text>{k}{'x' * 30_000}</text>") for k in range(3)]
    with pytest.raises(ValueError, match="3 frames take .* more than 60000: show fewer"):
        stepper(large, "abc", "alt")
