"""Strips over time: what each does, in as much of the width as it takes."""

import pytest
from drawn import elements, texts

from kernels.draw import strips

ROWS = {"X": ["multiply"] * 6 + ["add"] * 3, "Y": [""] * 3 + ["multiply"] * 6}


def test_pieces_are_as_long_as_what_they_stand_for():
    figure = strips(ROWS, "In turns.", "us")
    pieces = [
        [float(one[key]) for key in ("x", "width", "y")]
        for one in elements(figure, "rect", **{"fill-opacity": "0.6"})
    ]
    (x, long, top), (add, short, _), (later, same, below), *legend = pieces
    assert long == pytest.approx(2 * short, abs=0.02) and long == same and top < below
    assert add == pytest.approx(x + long, abs=0.02)
    assert later == pytest.approx(x + short, abs=0.02)
    assert len(legend) == 2
    assert {"X", "Y", "multiply", "0", "9 us"} <= set(texts(figure).values())


def test_it_says_in_words_what_it_shows():
    assert "X: multiply 6, add 3; Y: waits 3, multiply 6" in str(strips(ROWS, "In turns."))


@pytest.mark.parametrize("rows, why", [({}, "needs rows"), ({"X": [""]}, "words in them"),
                                       ({"X": list("abcdef")}, "5 words apart")])  # fmt: skip
def test_what_it_cannot_draw_it_refuses(rows, why):
    with pytest.raises(ValueError, match=why):
        strips(rows, "")
