"""kernels.draw.records.curves: what is said of them; test_unchanged.py has all that is drawn."""

import importlib

import pytest
from test_unchanged import WAITS, told

from kernels.draw import hiding, scaling


def test_hiding_has_a_curve_for_each_number_of_chains():
    axes, alt, _ = told(hiding, WAITS)
    gbs = 1000 * 10 * 128 / 0.5e6  # of one warp on each SM with one chain
    assert f"[[1 {gbs:.5g}] [2 {2 * gbs:.5g}] [4 {4 * gbs:.5g}]]" in axes
    tflops = 1000 * 10 * 64 / 0.5e9  # two operations of each of 32 threads
    assert f"[[1 {tflops:.5g}] [2 {2 * tflops:.5g}] [4 {4 * tflops:.5g}]]" in axes
    assert "2 at a time: 5.12 with 1 warp to 20.5 with 4" in alt


def test_numbers_of_bytes():
    words = importlib.import_module("kernels.draw.records.curves")._bytes
    assert [words(n) for n in (64, 2**14, 2**23, 2**31)] == ["64 B", "16 KiB", "8 MiB", "2 GiB"]


def test_what_was_not_measured_is_refused():
    for nothing in ({}, {"empty": []}):
        with pytest.raises(ValueError, match="scaling needs curves"):
            scaling(nothing, [])


def test_a_band_is_shaded_around_its_curve():
    curves = {"a": [(1, 1.0), (4, 0.4)], "b": [(1, 1.0), (2, 0.9), (4, 0.5)]}
    axes, alt, _ = told(scaling, curves, [], {"b": (0.5, 1.1)})
    assert "[[2 0.99] [2 0.45] [4 0.25] [4 0.55]" in axes and "4 0.2]" not in axes
    assert "band, b: 0.50 to 1.10 of it" in alt and "band, a" not in alt
