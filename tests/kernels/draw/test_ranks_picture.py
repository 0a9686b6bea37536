"""Ranks over time, rounds of schedules and scaling: what is drawn where."""

from __future__ import annotations

import pytest
from drawn import elements, texts

from kernels import parallel
from kernels.draw import PALETTE, ranks, rounds
from kernels.draw.records.ranks import LEFT, WIDE

SPANS = [
    (0, "multiply", 0, 0.0, 0.4),
    (0, "transfer", 0, 0.0, 0.1),
    (0, "multiply", 1, 0.6, 1.0),
    (1, "multiply", 0, 0.0, 0.5),
    (1, "multiply", 1, 0.4, 1.0),  # two lanes overlap
]


def bars(figure, colour):
    return [
        tuple(float(r[key]) for key in ("x", "y", "width"))
        for r in elements(figure, "rect", fill=PALETTE[colour])
    ][:-1]  # the last is the legend's


def test_a_bar_for_each_span():
    figure = ranks({"made up": SPANS})
    found = bars(figure, "green")
    assert [(x, w) for x, _, w in found] == [
        (LEFT, pytest.approx(0.4 * WIDE)),
        (pytest.approx(LEFT + 0.6 * WIDE), pytest.approx(0.4 * WIDE)),
        (LEFT, pytest.approx(0.5 * WIDE)),
        (pytest.approx(LEFT + 0.5 * WIDE), pytest.approx(0.5 * WIDE)),
    ]
    ((_, y, width),) = bars(figure, "blue")
    assert width == pytest.approx(0.1 * WIDE)
    assert found[0][1] < y < found[2][1]  # below rank 0's products, above those of rank 1
    words = list(texts(figure).values())
    assert "rank 0" in words and "rank 1" in words and words.count("1") == 2
    assert "1 s" in words and "transfer" in words
    assert "1 s, of which 20.0% without a product" in figure.caption


@pytest.mark.parametrize("nothing", [{}, {"empty": []}])
def test_nothing_is_refused(nothing):
    with pytest.raises(ValueError, match="ranks needs spans"):
        ranks(nothing)


# ---------------------------------------------------------------------- rounds


def filled(svg, opacity):
    return [r for r in elements(svg, "rect") if r.get("fill-opacity") == opacity]


def test_a_frame_for_each_round():
    plan = parallel.ring(8, 8, 8, 4)
    made = rounds(plan)
    assert len(made) == 4
    assert made.labels[0] == "round 0: 4 ranks multiply, 4 blocks on the way"
    assert made.labels[3] == "round 3: 4 ranks multiply, 0 blocks on the way"
    for number in range(4):
        svg = made.frames[number]
        assert len(filled(svg, "0.7")) == 12 + 4  # A, B and C of four ranks, and the legend
        assert len(filled(svg, "0.25")) == 4 * number  # of C what is done
        dashed = [r for r in elements(svg, "rect") if r.get("stroke-dasharray")]
        assert len(dashed) == (4 if number < 3 else 0)
    assert {"1→0", "0→3"} <= set(texts(made.frames[0]).values())


def test_the_host_is_named():
    made = rounds(parallel.stream.plan(8, 8, 8, 4, 8))
    assert "host→0" in texts(made.frames[0]).values()
    assert any("0→host" in texts(frame).values() for frame in made.frames)
