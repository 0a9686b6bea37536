"""Fragments and their products: loads, rows and counts are those of the kernel."""

import pytest
from drawn import elements, texts
from test_figure import contrast

import kernels
from kernels.draw import PALETTE, outer_product

# step: rows and columns of a thread, loads of a tile, k of a tile, the rows of thread 5
STEPS = {
    7: (8, 1, 64 + 8 * 64 // 4, 64, list(range(8))),
    9: (4, 4, 16 + 4 * 16 // 4, 16, list(range(4))),
    10: (4, 4, 2 * 16, 16, list(range(4))),
    12: (8, 8, 4 * 8, 8, [4, 5, 6, 7, 20, 21, 22, 23]),
    14: (8, 8, 4 * 8, 8, [4, 5, 6, 7, 20, 21, 22, 23]),
}


def fragment(frame, opacity):
    return len(elements(frame, "rect", **{"fill-opacity": opacity}))


@pytest.mark.parametrize("number", STEPS)
def test_a_frame_for_each_k(number):
    TM, TN, loads, BK, rows = STEPS[number]
    step = kernels.step(number)
    shown = outer_product(step, thread=5)
    assert len(shown) == BK
    assert f"{TM} elements of A by {TN} of B" in shown.caption
    assert f"takes {loads} loads from shared memory for {TM * TN * BK} FMAs" in shown.caption
    assert shown.labels[-1].endswith(f"so far {loads} for {TM * TN * BK}")
    for n, frame in enumerate(shown.frames):
        words = texts(frame)
        sums = [text for text in words.values() if text == str(n + 1)]
        assert len(sums) >= TM * TN  # each element of C has had as many FMAs
        assert fragment(frame, "0.5") + fragment(frame, "0.12") == TM + TN
        assert f"C: {TM} x {TN} sums in registers" in words.values()
    left = [int(t) for (x, _), t in sorted(texts(shown.frames[0]).items()) if x == 54 + 14]
    assert sorted(left) == rows


def test_kernels_without_such_loads_are_refused():
    with pytest.raises(ValueError, match="loads from 0 arrays in shared memory"):
        outer_product(kernels.step(3))
    with pytest.raises(ValueError, match="thread 5000 stores nothing"):
        outer_product(kernels.step(9), 5000)


@pytest.mark.parametrize("ink, page", [("#1f2328", "#ffffff"), ("#ced6dd", "#14181e")])
def test_numbers_are_read_on_what_they_stand_on(ink, page):
    for name, opacity in (("blue", 0.5), ("vermilion", 0.5), ("green", 0.3)):
        mixed = [
            round(opacity * int(PALETTE[name][n : n + 2], 16))
            + round((1 - opacity) * int(page[n : n + 2], 16))
            for n in (1, 3, 5)
        ]
        assert contrast(ink, "#{:02x}{:02x}{:02x}".format(*mixed)) >= 4.5
    frame = outer_product(kernels.step(12)).frames[0]
    used = {e["fill-opacity"] for tag in ("rect", "path") for e in elements(frame, tag)
            if "fill-opacity" in e}  # fmt: skip
    assert used <= {"0.5", "0.12", "0.3"}
