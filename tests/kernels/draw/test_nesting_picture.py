"""Block, warp and thread tiles: what is drawn is what they store."""

import numpy as np
import pytest
from drawn import elements, rectangles, texts

import kernels
from kernels.draw import nesting

SIDES = {2: (64, 16), 3: (16, 64), 7: (64, 64), 11: (128, 128), 12: (128, 128), 15: (128, 128)}
# rows and columns that a warp and a thread store, and the pieces that a thread's lie in
WARPS = {2: (32, 1), 3: (1, 32), 7: (8, 32), 11: (16, 128), 12: (32, 64), 15: (32, 64)}
THREADS = {2: (1, 1), 3: (1, 1), 7: (8, 1), 11: (8, 8), 12: (8, 8), 15: (8, 8)}
PIECES = {12: 4, 15: 4}


def panels(figure):
    """(x, y, width, height) of the four pictures."""
    return [
        tuple(float(rect[key]) for key in ("x", "y", "width", "height"))
        for rect in elements(figure, "rect")
    ]


def marked(figure, shapes):
    """Of each picture, the coloured rectangles: first row, first column, rows, columns."""
    found = []
    paths = elements(figure, "path", **{"fill-opacity": "0.6"})
    for (x, y, width, height), (rows, columns), path in zip(panels(figure), shapes, paths):
        cell = width / columns
        assert cell == pytest.approx(height / rows, rel=0.02)
        places = [
            ((top - y) / cell, (left - x) / cell, high / cell, wide / cell)
            for left, top, wide, high in rectangles(path)
        ]
        found.append([tuple(int(np.rint(n)) for n in place) for place in places])
    return found


@pytest.mark.parametrize("number", SIDES)
def test_each_picture_marks_the_next(number):
    step = kernels.step(number)
    (BM, BN), (WM, WN), (TM, TN) = SIDES[number], WARPS[number], THREADS[number]
    figure = nesting(step)
    apart = 4 if number in PIECES else 1  # the runs of a thread lie apart in the warp's tile
    thread = (TM, TN) if apart == 1 else (WM // 2 + TM // 2, WN // 2 + TN // 2)
    C, block, warp, one = marked(figure, [(2 * BM, 2 * BN), (BM, BN), (WM, WN), thread])
    assert C == [(0, 0, BM, BN)]
    assert block == [(0, 0, WM, WN)]
    pieces = [
        (row, column, TM // (2 if apart == 4 else 1), TN // (2 if apart == 4 else 1))
        for column in ((0, WN // 2) if apart == 4 else (0,))
        for row in ((0, WM // 2) if apart == 4 else (0,))
    ]
    assert sorted(warp) == sorted(one) == sorted(pieces)
    words = list(texts(figure).values())
    assert words == [
        f"1. C: {2 * BM} x {2 * BN}",
        f"2. block (0, 0): {BM} x {BN}",
        f"3. warp 0: {WM} x {WN}",
        f"4. thread 0: {TM} x {TN}",
    ]
