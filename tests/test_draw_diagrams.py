"""Thread-mapping and coalescing diagrams: what they draw is what the trace says."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import kernels
from kernels.draw import coalescing, thread_mapping


@pytest.fixture(scope="module")
def traces():
    return {name: kernels.step(name).trace(128, 128, 40, keep=(1, 1))
            for name in ("02_naive", "03_coalesced")}


def texts(figure):
    """Every text of the drawing: (x, y) -> words."""
    root = ElementTree.fromstring(figure.svg)
    found = {}
    for element in root.iter():
        if element.tag.endswith("text"):
            found[float(element.get("x")), float(element.get("y"))] = element.text
    return found


def squares(figure, fill):
    """The corners of the cells of one colour."""
    path = re.search(rf'<path d="([^"]*)" fill="{re.escape(fill)}"', figure.svg)[1]
    return [tuple(map(float, corner)) for corner in re.findall(r"M(\S+) (\S+?)h", path)]


def test_mapping_turns_around_between_the_steps(traces):
    down, across = (squares(thread_mapping(traces[name]), kernels.draw.PALETTE["blue"])
                    for name in ("02_naive", "03_coalesced"))
    assert len(down) == len(across) == 32
    assert len({x for x, _ in down}) == 1 and len({y for _, y in down}) == 32
    assert len({y for _, y in across}) == 1 and len({x for x, _ in across}) == 32


def test_mapping_says_where_the_tile_lies(traces):
    figure = thread_mapping(traces["02_naive"])
    assert {"64", "127", "16", "31"} <= set(texts(figure).values())     # rows, columns
    assert "32 elements of one column" in figure.caption
    assert "32 elements of one row" in thread_mapping(traces["03_coalesced"]).caption


@pytest.mark.parametrize("step, array, used, moved, rows", [
    ("02_naive", "A", 32, 32 * 8, 32), ("02_naive", "B", 1, 8, 1),
    ("03_coalesced", "A", 1, 8, 1), ("03_coalesced", "B", 32, 32, 1)])
def test_coalescing_counts(traces, step, array, used, moved, rows):
    figure = coalescing(traces[step], array)
    assert len(squares(figure, kernels.draw.PALETTE["blue"])) == used
    wasted = moved - used
    if wasted:
        assert len(squares(figure, kernels.draw.PALETTE["vermilion"])) == wasted
    assert f"{4 * moved} bytes move, {4 * used} are used" in figure.caption
    assert sum(bool(re.fullmatch(rf"{array}\[\d+, \d+\]", words))
               for words in texts(figure).values()) == rows


def test_coalescing_names_the_elements_of_the_chosen_access(traces):
    figure = coalescing(traces["03_coalesced"], "A", warp=5, index=7)
    assert "A[18, 7]" in texts(figure).values()


def test_what_cannot_be_drawn(traces):
    with pytest.raises(ValueError, match="no loads of C"):
        thread_mapping(traces["02_naive"], "C", "load")
    with pytest.raises(ValueError, match="loads of A"):
        coalescing(traces["02_naive"], "D")


def test_figures_are_deterministic_small_and_have_an_alternative(traces):
    for figure in (thread_mapping(traces["02_naive"]), coalescing(traces["02_naive"], "A")):
        html = figure._repr_html_()
        assert len(html) < 60_000
        assert 'role="img"' in html and figure.alt in html
    again = kernels.step("02_naive").trace(128, 128, 40, keep=(1, 1))
    assert thread_mapping(again) == thread_mapping(traces["02_naive"])
    assert coalescing(again, "A") == coalescing(traces["02_naive"], "A")


def test_the_picture_in_the_readme_is_the_current_one(tmp_path):
    root = Path(__file__).parent.parent
    trace = kernels.step("02_naive").trace(128, 128, 64, keep=(1, 0))
    coalescing(trace, "A", index=0).save(tmp_path / "now.svg")
    kept = root / "book" / "assets" / "coalescing.svg"
    assert kept.read_text() == (tmp_path / "now.svg").read_text()
    assert "](book/assets/coalescing.svg)" in (root / "README.md").read_text()
