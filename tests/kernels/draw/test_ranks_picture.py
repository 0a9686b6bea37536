"""Ranks over time, rounds of schedules and scaling: what is drawn where."""

from __future__ import annotations

import pytest
from drawn import elements, legible, texts

from kernels import parallel
from kernels.draw import PALETTE, ranks, rounds, scaling
from kernels.draw.records.ranks import LEFT, WIDE
from kernels.parallel import model

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
    assert "1 s" in words and "transfer" in words and "GPU to host" not in words
    assert "1 s, of which 20.0% without a product" in figure.caption
    legible(figure)


def test_pictures_share_a_scale():
    figure = ranks({"long": [(0, "multiply", 0, 0, 2.0)], "short": [(0, "multiply", 0, 0, 0.5)]})
    assert [round(width) for _, _, width in bars(figure, "green")] == [WIDE, WIDE / 4]
    assert "short: 500 ms" in figure.alt


def test_two_directions_have_a_lane_each():
    figure = ranks({"x": [(0, what, 3, 0, 1e-3) for what in ("multiply", "up", "down")]})
    ((_, up, _),), ((_, down, _),) = bars(figure, "blue"), bars(figure, "vermilion")
    assert down > up
    assert "GPU to host" in texts(figure).values()
    legible(figure)


def test_a_prediction_is_drawn():
    machine = model.Machine(1e-5, 1e-12, 0, 0, 0, 1e-6, (64, 64), 4)
    plan = parallel.ring(256, 256, 256, 4)
    spans = model.predict(plan, machine).spans
    figure = ranks({"ring": spans})
    assert len(bars(figure, "green")) == 16 and len(bars(figure, "blue")) == 12


@pytest.mark.parametrize("nothing", [{}, {"empty": []}])
def test_nothing_is_refused(nothing):
    with pytest.raises(ValueError, match="ranks needs spans"):
        ranks(nothing)
    with pytest.raises(ValueError, match="scaling needs curves"):
        scaling(nothing)


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
        legible(svg)
    assert {"1→0", "0→3"} <= set(texts(made.frames[0]).values())


def test_blocks_are_where_they_are_in_the_matrix():
    svg = rounds(parallel.ring(8, 8, 8, 4)).frames[1]
    blue = [r for r in elements(svg, "rect", fill=PALETTE["blue"]) if r["fill-opacity"] == "0.7"]
    a, b, c = sorted(blue, key=lambda r: float(r["width"]) * float(r["height"]))[:0:-1][:3]
    unit = float(c["width"]) / 2
    assert float(c["height"]) == 2 * unit and {float(a["width"]), float(b["width"])} == {
        *(8 * unit, 2 * unit),
    }
    matrices = [r for r in elements(svg, "rect", fill="none") if not r.get("stroke-dasharray")]
    whole = max(matrices, key=lambda r: float(r["x"]) + float(r["y"]))  # C
    assert float(c["x"]) == pytest.approx(float(whole["x"]) + 2 * unit)  # columns of rank 1
    assert float(c["y"]) == pytest.approx(float(whole["y"]))


def test_a_block_of_several_ranks_is_grey():
    svg = rounds(parallel.summa(8, 8, 8, (2, 2))).frames[1]
    shared = [r for r in filled(svg, "0.7") if r["fill"] == "currentColor"]
    assert len(shared) == 4  # two blocks of A, two of B
    assert "no rank multiplies" in rounds(parallel.summa(8, 8, 8, (2, 2))).labels[0]


def test_the_host_is_named():
    made = rounds(parallel.stream.plan(8, 8, 8, 4, 8))
    assert "host→0" in texts(made.frames[0]).values()
    assert any("0→host" in texts(frame).values() for frame in made.frames)
    for frame in made.frames:
        legible(frame)


# ---------------------------------------------------------------------- scaling


def test_curves_and_points():
    curves = {"ring": [(1, 1.0), (2, 0.9), (4, 0.4)], "other": [(1, 1.0), (4, 0.8)]}
    figure = scaling(curves, [("ring", 2, 0.85)])
    assert "ring: 100.0% at 1 to 40.0% at 4" in figure.alt
    assert "measured, ring: 85.0% at 2" in figure.alt
    for word in "ring", "other", "GPUs", "share of linear":
        assert word in figure.svg
