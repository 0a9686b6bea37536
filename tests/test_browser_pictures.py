"""Steppers in a browser that reaches no network: moved by mouse and keyboard, light and dark."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from browser import insert
from test_banks_picture import COLUMN
from test_browser import CUT_OFF, FAINT, SMALL, complaints
from test_page_weight import as_built
from test_unchanged import PICTURES

from anywarp.draw import banks, coalescing, listing, side_by_side, thread_mapping
from kernels.draw import Stepper, tiles

PAGE = """<!doctype html><html data-theme="{mode}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><style>
body {{ margin: 10px; font: 16px/1.5 sans-serif; background: #fff; color: #1f2328 }}
[data-theme="dark"] body {{ background: #14181e; color: #ced6dd }}
</style><body><article>{pictures}</article></body></html>"""

# What a drawing is: the name, the attributes and the text of every element. Those that the script
# adds to the <svg> itself are left out.
DRAWN = """
(svg => [svg, ...svg.querySelectorAll("*")].map(e => [e.localName,
    Object.fromEntries([...e.attributes].filter(a => e !== svg || a.name === "viewBox")
                                        .map(a => [a.name, a.value])),
    e.children.length ? "" : e.textContent]))(document.querySelectorAll("article svg")[%d])
"""
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}


@pytest.fixture(scope="module")
def pictures():
    """Every kind of picture; the first two are steppers, the third the same as the second."""
    from kernels import step

    shared = banks(COLUMN, "tile")
    naive = step("02_naive")
    traced = naive.trace(64, 64, 40)
    return [
        coalescing(traced, "A"),
        shared,
        shared,
        PICTURES["mapping 8 x 8"](),
        thread_mapping(traced),
        listing(naive, traced),
        PICTURES["occupancy"](),
        PICTURES["coalescing, vectors"](),
    ]


@pytest.fixture
def page(chromium, pictures, tmp_path):
    def load(mode="light", width=900, change=lambda text: text):
        path = tmp_path / "page.html"
        text = "".join(picture._repr_html_() for picture in pictures)
        path.write_text(PAGE.format(mode=mode, pictures=change(text)), encoding="utf-8")
        chromium.open(path, width=width, mode=mode)
        return chromium

    return load


def drawn(tab, number):
    return [
        tuple(entry)
        for entry in (
            (name, tuple(sorted(attributes.items())), text)
            for name, attributes, text in tab.evaluate(DRAWN % number)
        )
    ]


def expected(svg):
    def entry(e, root):
        attributes = {k: v for k, v in e.attrib.items() if not root or k == "viewBox"}
        return (
            e.tag.partition("}")[2],
            tuple(sorted(attributes.items())),
            "" if len(e) else e.text or "",
        )

    root = ElementTree.fromstring(svg)
    return [entry(e, e is root) for e in root.iter()]


def label(tab, number):
    return tab.evaluate(f"document.querySelectorAll('output')[{number}].textContent")


def click(tab, selector, number, across=0.5):
    """Press the mouse on the number-th element, at that share of its width."""
    place = tab.evaluate(f"""(e => {{ e.scrollIntoView({{block: "center"}});
        const r = e.getBoundingClientRect();
        return [r.left + {across} * r.width, r.top + r.height / 2]; }})
        (document.querySelectorAll({json.dumps(selector)})[{number}])""")
    for kind in "mousePressed", "mouseReleased":
        tab.command(
            "Input.dispatchMouseEvent",
            type=kind,
            x=place[0],
            y=place[1],
            button="left",
            clickCount=1,
        )


def press(tab, key):
    for kind in "keyDown", "keyUp":
        tab.command(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key]
        )


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("change", [str, as_built], ids=["notebook", "built page"])
def test_moved_by_mouse(page, pictures, change, mode):
    tab = page(mode, change=change)
    for number in range(3):
        stepper = pictures[number]
        assert drawn(tab, number) == expected(stepper.frames[0])
        click(tab, "button[title=next]", number)
        click(tab, "button[title=next]", number)
        click(tab, "button[title=next]", number)
        click(tab, "button[title=previous]", number)
        assert label(tab, number) == stepper.labels[2]
        assert drawn(tab, number) == expected(stepper.frames[2]) != expected(stepper.frames[0])
        click(tab, "input[type=range]", number, 0.99)
        assert label(tab, number) == stepper.labels[-1]
        assert drawn(tab, number) == expected(stepper.frames[-1])
        click(tab, "button[title=next]", number)  # there is no more
        assert label(tab, number) == stepper.labels[-1]
    click(tab, "input[type=range]", 1, 0.01)
    assert label(tab, 1) == pictures[1].labels[0]
    assert drawn(tab, 2) == expected(pictures[2].frames[-1])  # the same picture, apart
    assert not complaints(tab.events)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("control", ["input[type=range]", "button[title=next]"])
def test_moved_by_keyboard(page, pictures, mode, control):
    tab = page(mode)
    stepper = pictures[0]
    tab.evaluate(f"document.querySelector('{control}').focus()")
    scrolled = tab.evaluate("scrollY")
    for key, step in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowUp", 3),
        ("ArrowLeft", 2),
        ("ArrowDown", 1),
        ("End", len(stepper) - 1),
        ("Home", 0),
        ("ArrowLeft", 0),
    ]:
        press(tab, key)
        assert label(tab, 0) == stepper.labels[step], key
        assert drawn(tab, 0) == expected(stepper.frames[step])
        range_ = tab.evaluate("(r => [r.value, r.ariaValueText])(document.querySelector('input'))")
        assert range_ == [str(step), stepper.labels[step]]
    assert label(tab, 1) == pictures[1].labels[0]
    assert tab.evaluate("scrollY") == scrolled
    press(tab, "End")
    assert drawn(tab, 0) == expected(stepper.frames[-1])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_frame_fits_and_is_legible(page, pictures, mode):
    for width in 900, 400:
        tab = page(mode, width)
        assert not complaints(tab.events)
        for key in "Home", "ArrowRight", "End":
            for number in range(3):
                tab.evaluate(f"document.querySelectorAll('input')[{number}].focus()")
                press(tab, key)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert not tab.evaluate(CUT_OFF)
            assert not tab.evaluate(FAINT)
            assert not tab.evaluate(SMALL)
    ink = "getComputedStyle(document.querySelector('article svg text')).fill"
    assert tab.evaluate(ink) == {"light": "rgb(31, 35, 40)", "dark": "rgb(206, 214, 221)"}[mode]


def test_controls_have_names_and_end_where_there_is_no_more(page, pictures):
    tab = page()
    stepper = pictures[0]
    names = "[...document.querySelectorAll('input')].map(e => e.ariaLabel)"
    assert tab.evaluate(names) == ["loads of A", "loads of tile", "loads of tile"]
    state = """[...document.querySelectorAll('button')].slice(1, 3).map(e => e.disabled)
        .concat(document.querySelector("article svg").ariaLabel,
                document.querySelector("output").ariaLive)"""

    def heard(number):
        return f"{stepper.alt} {stepper.labels[number]}."

    assert tab.evaluate(state)[:3] == [True, False, heard(0)]
    click(tab, "button[title=next]", 0)
    assert tab.evaluate(state) == [False, False, heard(1), "polite"]
    press(tab, "End")  # the button has the focus, is disabled, and hands it to the slider
    assert tab.evaluate(state)[:3] == [False, True, heard(-1)]
    press(tab, "ArrowLeft")  # of a slider with the focus the value is read out, so not the label
    assert tab.evaluate(state) == [False, False, heard(-2), "off"]
    bare = "[data-stepper] :is(button, input):not([data-lm-suppress-shortcuts])"
    assert tab.evaluate(f"document.querySelectorAll('{bare}').length") == 0


def test_play_runs_to_the_end_or_until_something_is_touched(page, pictures):
    tab = page()
    tab.evaluate("document.querySelectorAll('input')[1].focus()")
    press(tab, "End")
    press(tab, "ArrowLeft")
    click(tab, "button[title=play]", 1)
    assert tab.evaluate("document.querySelectorAll('button')[3].title") == "pause"
    settled = """new Promise(done => setTimeout(() => done(
        [document.querySelectorAll('output')[1].textContent,
         document.querySelectorAll('button')[3].title]), 1300))"""
    last = len(pictures[1]) - 1
    assert tab.evaluate(settled) == [pictures[1].labels[last], "play"]
    click(tab, "button[title=play]", 1)  # from the beginning
    assert label(tab, 1) == pictures[1].labels[0]
    press(tab, "ArrowRight")
    assert tab.evaluate(settled) == [pictures[1].labels[1], "play"]
    tab.command(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-reduced-motion", "value": "reduce"}],
    )
    try:
        assert page().evaluate("document.querySelectorAll('button[title=play]').length") == 0
    finally:
        tab.command("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("change", [str, as_built], ids=["notebook", "built page"])
def test_side_by_side_are_moved_together(chromium, tmp_path, change):
    from kernels import step

    both = {"short": tiles(step(5), 64, 64, 64), "long": tiles(step(5), 64, 64, 192)}
    short, long = both.values()
    assert (len(short), len(long)) == (2, 6)
    path = tmp_path / "page.html"
    text = change(side_by_side(both)._repr_html_())
    path.write_text(PAGE.format(mode="dark", pictures=text), encoding="utf-8")
    chromium.open(path, width=900, mode="dark")
    assert chromium.evaluate("document.querySelectorAll('input').length") == 1
    chromium.evaluate("document.querySelector('input').focus()")
    for key, numbers in [
        ("ArrowRight", (0, 1)),
        ("ArrowRight", (0, 2)),
        ("ArrowRight", (1, 3)),
        ("End", (1, 5)),
        ("Home", (0, 0)),
    ]:
        press(chromium, key)
        for number, (title, one) in enumerate(both.items()):
            assert drawn(chromium, number) == expected(one.frames[numbers[number]])
            said = f"{title}: {one.labels[numbers[number]]}"
            assert label(chromium, 0).split("\n")[number] == said
            told = f"document.querySelectorAll('article svg')[{number}].ariaLabel"
            assert chromium.evaluate(told) == (f"{title}: {one.alt} {one.labels[numbers[number]]}.")
    tops = "[...document.querySelectorAll('article svg')].map(e => e.getBoundingClientRect().top)"
    for width, stacked in (900, False), (400, True):
        chromium.resize(width)
        first, second = chromium.evaluate(tops)
        assert (second > first + 100) if stacked else second == first
        for check in CUT_OFF, FAINT, SMALL:
            assert not chromium.evaluate(check)
    assert not complaints(chromium.events)


def test_text_is_large_enough(page):
    tab = page()
    small = tab.evaluate("""[...document.querySelectorAll("article *")]
        .filter(e => e.children.length === 0 && e.textContent.trim() && e.checkVisibility())
        .map(e => parseFloat(getComputedStyle(e).fontSize)
             * (e.closest("svg") ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1))
        .filter(size => size < 10.99)""")
    assert not small


def test_without_scripts_styles_and_svg_the_first_frame_is_an_image(page, pictures):
    def strip(text):
        return re.sub(r"<(script|style|svg)\b.*?</\1>", "", text, flags=re.DOTALL)

    tab = page(change=strip)
    seen = tab.evaluate("""[...document.images].map(i => [i.checkVisibility(), i.naturalWidth > 500,
                                                          i.alt])""")
    shown = [p for p in pictures if hasattr(p, "svg") or isinstance(p, Stepper)]
    assert seen == [[True, True, picture.alt] for picture in shown]
    assert tab.evaluate("document.querySelectorAll('button, input, output').length") == 0


def test_inserted_as_notebooks_do(page, pictures):
    """JupyterLab sets innerHTML, which runs no script, and then puts new scripts in their place,
    before or after the output is part of the page."""
    tab = page(change=lambda text: "")
    for late in "true", "false":
        insert(tab, pictures[1]._repr_html_(), late)
        assert (
            tab.evaluate("document.querySelectorAll('article :is(svg, input, output)').length") == 3
        )
        click(tab, "button[title=next]", 0)
        assert drawn(tab, 0) == expected(pictures[1].frames[1])
