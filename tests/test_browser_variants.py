"""The explorers of the chapters, as they are stored, in a browser: a control moves the picture and
the numbers, and both are what the variant's own trace says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from browser import insert
from building import ROOT
from drawn import bars
from test_browser import CUT_OFF, FAINT, SMALL, UNREACHABLE, complaints
from test_browser_pictures import PAGE, press

import kernels
from kernels import draw
from kernels.draw import PALETTE

MOST = 200_000  # bytes of a page


class Move(NamedTuple):
    """In a notebook's explorer, the control of this name to this option, and the access to that."""

    control: str
    option: int
    access: int
    label: str  # of the variant that is shown then
    shape: tuple[int, int, int]


MOVES = {
    "03_coalesced": Move("BN", 1, 1, "03_coalesced BN=8", (64, 64, 32)),
    "05_shared_tiling": Move("BM = BN = BK", 2, 0, "05 BM=16 BN=16 BK=16", (64, 64, 64)),
    "06_bank_conflicts": Move("PAD", 1, 2, "06 TRANSPOSED=1 PAD=1", (64, 64, 64)),
    "10_transposed_tile": Move("PAD", 2, 0, "10_transposed_tile", (64, 64, 64)),
    "12_warp_tiling": Move("QUADS", 0, 0, "12 QUADS=0", (128, 128, 64)),
    "instruments": Move("PAD", 1, 0, "06 TRANSPOSED=1 PAD=1", (64, 64, 64)),
}
SEEN = """(() => {
    const select = [...document.querySelectorAll("select")].at(-1);
    return {
        access: select.options[select.selectedIndex].text,
        cells: [...document.querySelectorAll("td")].map(cell => cell.textContent),
        label: document.querySelector("[data-stepper] output").textContent,
        words: document.querySelector("[data-variants] > output").textContent,
        shown: document.querySelector("[data-stepper] svg").checkVisibility(),
        svg: new XMLSerializer().serializeToString(document.querySelector("svg")),
    };
})()"""


def stored() -> dict[str, str]:
    """The explorers that the notebooks hold, by the names of the notebooks."""
    found = {}
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                text = output.get("data", {}).get("text/html", "")
                if "data-variants" in text:
                    assert path.stem not in found, "one is enough for a page"
                    found[path.stem] = text
    return found


EXPLORERS = stored()


def show(tab, tmp_path: Path, text: str, mode: str = "light", width: int = 900) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(mode=mode, pictures=text), encoding="utf-8")
    tab.open(path, width=width, mode=mode)


def choose(tab, name: str, option: int) -> None:
    """Set a control, as a reader's hand does, who begins at its first option."""
    find = f"document.querySelector('[data-variants] [aria-label={json.dumps(name)}]')"
    tab.evaluate(f"{find}.focus()")
    press(tab, "Home")
    for _ in range(option):
        press(tab, "ArrowRight")


def test_the_chapters_have_them_and_they_are_small():
    assert set(EXPLORERS) == set(MOVES)
    assert all(len(text.encode()) < MOST for text in EXPLORERS.values())
    assert not any("not timed" in text for text in EXPLORERS.values())


@pytest.mark.parametrize("name", MOVES)
def test_a_control_moves_picture_and_numbers(chromium, tmp_path, name):
    move = MOVES[name]
    show(chromium, tmp_path, EXPLORERS[name])
    before = chromium.evaluate(SEEN)
    choose(chromium, move.control, move.option)
    choose(chromium, "access", move.access)
    after = chromium.evaluate(SEEN)
    assert before["svg"] != after["svg"] and before["cells"] != after["cells"]
    trace = kernels.step(move.label).trace(*move.shape)
    named, _, number = after["access"].partition(", number ")
    (kind, _, array), index = named.split(), int(number or 0)
    access = trace.find(array, kind, index=index)
    picture = (draw.banks if access.space == "shared" else draw.coalescing)(
        trace, array, kind, index=index
    )
    for colour in PALETTE.values():
        assert bars(after["svg"], colour) == bars(picture, colour)
    assert after["cells"][1] == f"{trace.wavefronts_per_fma:.3f}"
    assert re.match(r"\d+", after["cells"][0])[0] == str(
        access.wavefronts if access.space == "shared" else access.sectors
    )
    assert after["cells"][0] in after["label"] and not after["words"]
    assert not complaints(chromium.events)


def test_what_the_kernel_refuses_is_named_and_no_picture_is_shown(chromium, tmp_path):
    show(chromium, tmp_path, EXPLORERS["10_transposed_tile"])
    choose(chromium, "PAD", 1)
    seen = chromium.evaluate(SEEN)
    assert "10_transposed_tile PAD=2 is refused: static_assert(PAD" in seen["words"]
    assert not seen["shown"] and set(seen["cells"]) == {"–"}
    choose(chromium, "PAD", 2)
    seen = chromium.evaluate(SEEN)
    assert seen["shown"] and not seen["words"] and "–" not in seen["cells"]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_they_are_legible_and_reached_by_the_keyboard(chromium, tmp_path, mode):
    text = "".join(EXPLORERS[name] for name in ("03_coalesced", "06_bank_conflicts"))
    for width in 390, 900:
        show(chromium, tmp_path, text, mode, width)
        assert not chromium.evaluate(UNREACHABLE)
        assert not chromium.evaluate(CUT_OFF)
        assert not chromium.evaluate(SMALL)
        assert not chromium.evaluate(FAINT)
    said = "[...document.querySelectorAll('[data-variants] > div input')].map(e => e.ariaValueText)"
    assert chromium.evaluate(said) == ["16", "64", "2"]
    bare = "[data-variants] :is(button, input, select):not([data-lm-suppress-shortcuts])"
    assert chromium.evaluate(f"document.querySelectorAll('{bare}').length") == 0
    hidden = "[...document.querySelectorAll('[data-stepper] input')].map(e => e.checkVisibility())"
    assert chromium.evaluate(hidden) == [False, False]


def test_two_of_the_same_are_apart_and_leave_no_globals(chromium, tmp_path):
    show(chromium, tmp_path, "")
    names = set(chromium.evaluate("Object.getOwnPropertyNames(window)"))
    show(chromium, tmp_path, 2 * EXPLORERS["05_shared_tiling"])
    assert set(chromium.evaluate("Object.getOwnPropertyNames(window)")) == names
    choose(chromium, "BM = BN = BK", 0)
    sizes = "[...document.querySelectorAll('[data-variants] > div input')].map(e => e.value)"
    assert chromium.evaluate(sizes) == ["0", "3"]
    labels = "[...document.querySelectorAll('output')].map(e => e.textContent).filter(t => t)"
    first, second = chromium.evaluate(labels)
    assert first != second and first.startswith("128-bit load, first lane at tile_b")


def test_inserted_as_notebooks_do(chromium, tmp_path):
    """JupyterLab sets innerHTML, which runs no script, and then puts new scripts in their place,
    before or after the output is part of the page."""
    for late in "true", "false":
        show(chromium, tmp_path, "")
        insert(chromium, EXPLORERS["05_shared_tiling"], late)
        assert (
            chromium.evaluate("document.querySelectorAll('article :is(svg, select)').length") == 2
        )
        choose(chromium, "BM = BN = BK", 1)
        assert "8" in chromium.evaluate(SEEN)["cells"][0]
