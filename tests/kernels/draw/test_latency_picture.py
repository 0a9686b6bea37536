"""kernels.draw.records.latency: charts of waiting, of numbers made up for no GPU."""

from __future__ import annotations

import importlib

import pytest
from test_plots import texts

from kernels.draw import hiding, latency

RECORD = {
    "provenance": {"gpu": "Simulated GPU 1", "date": "2001-02-03", "multiprocessors": 10},
    "latency": {
        "multiply-add": 3.2,
        "shared memory": 17.4,
        "by size": [{"bytes": 2**n, "cycles": 10.0 * n} for n in range(14, 24)],
    },
    "loads": [
        {"warps": w, "chains": c, "steps": 1000, "ms": 0.5, "cycles": 1}
        for c in (1, 2)
        for w in (1, 2, 4)
    ],
    "multiply-adds": [
        {"warps": w, "chains": 1, "steps": 10**6, "ms": 1.0, "cycles": 1} for w in (1, 2)
    ],
}


def curves(draw, monkeypatch):
    """The points that Matplotlib is told, a list of (x, y) for each curve."""
    import matplotlib.axes

    drawn = []
    plot = matplotlib.axes.Axes.plot

    def noted(ax, x, y, *args, **kwargs):
        drawn.append(list(zip(x, y)))
        return plot(ax, x, y, *args, **kwargs)

    monkeypatch.setattr(matplotlib.axes.Axes, "plot", noted)
    return draw(RECORD), drawn


def test_latency_has_a_point_for_each_size(monkeypatch):
    figure, (curve,) = curves(latency, monkeypatch)
    assert curve == [(2**n, 10.0 * n) for n in range(14, 24)]
    words = texts(figure)
    for text in ("16 KiB", "128 KiB", "1 MiB", "8 MiB", "shared memory: 17", "multiply-add: 3"):
        assert text in words, text
    assert "16 KiB: 140" in figure.alt and "8 MiB: 230" in figure.alt
    assert "recorded on Simulated GPU 1, 2001-02-03" in figure.alt
    assert "Recorded on Simulated GPU 1, 2001-02-03." in figure.caption


def test_hiding_has_a_curve_for_each_number_of_chains(monkeypatch):
    figure, drawn = curves(hiding, monkeypatch)
    gbs = 1000 * 10 * 128 / 0.5e6  # of one warp on each SM with one chain
    assert drawn[0] == [(w, pytest.approx(gbs * w)) for w in (1, 2, 4)]
    assert drawn[1] == [(w, pytest.approx(2 * gbs * w)) for w in (1, 2, 4)]
    assert drawn[2] == [(w, pytest.approx(w * 10**6 * 10 * 64 / 1e9)) for w in (1, 2)]
    assert "2 at a time: 5.12 with 1 warp to 20.5 with 4" in figure.alt
    assert {"GB/s from device memory", "TFLOPS", "warps on each SM"} <= set(texts(figure))


def test_they_are_not_kept_open():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    latency(RECORD), hiding(RECORD)
    assert plt.get_fignums() == before


def test_numbers_of_bytes():
    words = importlib.import_module("kernels.draw.records.latency")._bytes
    assert [words(n) for n in (64, 2**14, 2**23, 2**31)] == ["64 B", "16 KiB", "8 MiB", "2 GiB"]
