"""Tiles moving through A and B: what is drawn is what the kernel loads."""

import numpy as np
import pytest
from drawn import elements, rectangles

import kernels
from kernels.draw import tiles


def drawn(frame, shapes):
    """{matrix: {look: (first row, first column, rows, columns)}} in elements."""
    frames = elements(frame, "rect")
    found = {}
    for (name, (rows, columns)), rect in zip(shapes.items(), frames):
        x, y, w, h = (float(rect[key]) for key in ("x", "y", "width", "height"))
        cell = w / columns
        assert h / rows == pytest.approx(cell, rel=0.01)
        found[name] = {}
        for path in elements(frame, "path"):
            look = {"0.25": "before", "0.85": "now", "0.6": "stored"}.get(path.get("fill-opacity"))
            for left, top, wide, high in rectangles(path):
                if x - 0.1 <= left <= x + w - 0.1 and y - 0.1 <= top <= y + h - 0.1:
                    place = ((top - y) / cell, (left - x) / cell, high / cell, wide / cell)
                    found[name].setdefault(look or "thread", []).append(
                        tuple(int(np.rint(n)) for n in place)
                    )
    return found


def shapes(M, N, K):
    return {"A": (M, K), "B": (K, N), "C": (M, N)}


TILED = (5, 9, 12)


@pytest.mark.parametrize("id", TILED)
def test_a_tile_moves_along_k(id):
    step = kernels.step(id)
    BM, BN, BK = (step.defines.get(name, step.defines["BN"]) for name in ("BM", "BN", "BK"))
    M, N, K = 2 * BM, 2 * BN, 3 * BK
    shown = tiles(step, M, N, K)
    assert len(shown) == 3
    for n, frame in enumerate(shown.frames):
        found = drawn(frame, shapes(M, N, K))
        assert found["A"]["now"] == [(BM, n * BK, BM, BK)]
        assert found["B"]["now"] == [(n * BK, BN, BK, BN)]
        if n:
            assert found["A"]["before"] == [(BM, 0, BM, n * BK)]
            assert found["B"]["before"] == [(0, BN, n * BK, BN)]
        assert found["C"] == {"stored": [(BM, BN, BM, BN)]}
        assert found["A"]["thread"] and found["B"]["thread"]
        label = shown.labels[n]
        assert label.startswith(f"tile {n + 1} of 3: k = {n * BK} to {n * BK + BK - 1}, ")
        assert label.endswith(f"{BM * BK} elements of A, {BK * BN} of B")


@pytest.mark.parametrize(
    "id, a, b, stored",
    [("02_naive", (32, 1), (1, 1), (32, 1)), ("03_coalesced", (1, 1), (1, 32), (1, 32))],
)
def test_without_tiles_it_is_a_warp_that_moves(id, a, b, stored):
    step = kernels.step(id)
    M, N = step.defines["BM"], step.defines["BN"]
    shown = tiles(step, M, N, 8)
    assert len(shown) == 8
    for k, frame in enumerate(shown.frames):
        found = drawn(frame, shapes(M, N, 8))
        assert found["A"]["now"] == [(0, k, *a)] and found["A"]["thread"] == [(0, k, 1, 1)]
        assert found["B"]["now"] == [(k, 0, *b)] and found["B"]["thread"] == [(k, 0, 1, 1)]
        assert found["C"]["stored"] == [(0, 0, *stored)]
        assert shown.labels[k].startswith(f"load {k + 1} of 8: k = {k}, ")
    assert "Warp 0 of block (0, 0)" in shown.caption and "block (0, 0) stores" not in shown.caption
