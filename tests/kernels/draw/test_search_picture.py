"""A search of tiles: each candidate stands where its time and its tile say."""

import importlib
import re

import pytest
from drawn import elements, texts

from kernels.draw import search
from kernels.draw.records.search import DOT, HIGH, LEFT, LOOKS, TOP, WIDE
from kernels.records import CUBLAS, Record, Results

MS = {
    "17_tile_space": 1.25,
    "17_tile_space STAGES=3": 1.0,
    "17_tile_space BN=128 TN=8 BLOCKS=2 WM=32": 2.0,
}


def found(size=64):
    records = [Record(CUBLAS, size, size, size, 1.0, 1.0, 1.0, 20, 1.0)]
    records += [Record(name, size, size, size, ms, ms, ms, 20, 1.0) for name, ms in MS.items()]
    return Results({"gpu": "X 1", "date": "2001-02-03"}, 2.0, 1.0, tuple(records), recorded=True)


def dots(figure, look):
    """The middles of the points of one colour."""
    (path,) = [
        p["d"] for p in elements(figure, "path") if p.get("fill") == look["fill"] and "h3" in p["d"]
    ]
    places = re.findall(r"M([\d.]+) ([\d.]+)", path)
    return [(float(x) + DOT / 2, float(y) + DOT / 2) for x, y in places]


def test_a_point_for_each_candidate():
    figure = search(found(), 64)
    pitch = WIDE / 2  # tiles of 16384 and of 32768 elements; 64 and 128 of a thread
    height = {share: TOP + HIGH * (1 - share) for share in (0.8, 1, 0.5)}
    small, large = (LEFT + pitch * (n + 0.1 + 0.8 * lane) for n, lane in ((0, 0.25), (1, 0.75)))
    assert dots(figure, LOOKS[0]) == [pytest.approx((small, height[0.5]), abs=0.02)]
    assert dots(figure, LOOKS[1]) == [
        pytest.approx((large, height[share]), abs=0.02) for share in (0.8, 1)
    ]
    (ring,) = elements(figure, "circle")
    assert (float(ring["cx"]), float(ring["cy"])) == pytest.approx((large, height[1]), abs=0.02)
    words = set(texts(figure).values())
    assert {"16384", "32768", "64", "128", "100%", "0%"} <= words
    assert "3 candidates" in figure.caption and "17_tile_space STAGES=3" in figure.caption
    assert "64 elements of a thread, at most 50.0%; 128 elements of a thread, at most 100.0%" in (
        figure.alt
    )
    assert "recorded on X 1, 2001-02-03" in figure.alt


def test_a_size_that_was_not_searched():
    with pytest.raises(ValueError, match="nothing was measured at 128 x 128 x 128"):
        search(found(), 128)


def test_no_candidate_is_left_out_for_want_of_a_colour(monkeypatch):
    monkeypatch.setattr(importlib.import_module("kernels.draw.records.search"), "LOOKS", LOOKS[:1])
    with pytest.raises(ValueError, match="2 sizes of a thread's tile, and only 1 colours"):
        search(found(), 64)
