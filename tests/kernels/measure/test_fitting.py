"""The fit finds costs from timings that were made with them."""

import itertools

import numpy as np
import pytest

from kernels.analysis.duration import Costs, Tile, Work, microseconds
from kernels.measure.fitting import OUTLIER, PACK, PACKING, STREAM, Timing, cost, fit, least_squares
from kernels.measure.splits import drawn

GPU = Costs(132, 3.0, 2500.0, 1.5, 0.1, 0.2, 1.5, PACKING)
TILES = {
    "large": Tile(128, 128, 8, 2, 4.0, 0.2, 0.7, 1.2, 1.0),
    "small": Tile(32, 32, 32, 4, 2.0, 0.4, 0.2, 1.1, 0.5),
}


def timings(noise=0.0):
    random = np.random.default_rng(0)
    found = []
    for M, N, K in drawn(3, 60):
        for name, tile in TILES.items():
            for ways in ((1, 0, 0), (4, 1, 0), (16, 0, 0), (1, 0, 132)):
                work = Work(M, N, K, *ways, int(N % 4 == 0))
                us = microseconds(tile, GPU, work) * np.exp(noise * random.standard_normal())
                found.append(Timing(name, work, us))
    return found


def shapes(**tiles):
    """What is known of tiles before they are timed."""
    return {name: dict(zip(("BM", "BN", "BK", "resident"), tile)) for name, tile in tiles.items()}


SHAPES = shapes(**TILES)


def test_costs_are_found_again():
    tiles, costs, error = fit(timings(), SHAPES, 132)
    assert error < 0.01
    for name, tile in TILES.items():
        assert tiles[name].step == pytest.approx(tile.step, rel=0.03)
        assert tiles[name].ragged == pytest.approx(tile.ragged, rel=0.05)
        assert tiles[name][:4] == tile[:4]
    assert costs.launch + tiles["small"].start == pytest.approx(3 + 2, rel=0.1)
    assert costs.multiprocessors == 132


def test_another_step_is_fitted_with_the_costs_of_the_gpu():
    """One that packs, of few timings."""
    wide = Tile(128, 128, 32, 1, 3.5, 1.0, 0.4, 1.2, 1.5, pack=2.0)
    works = [Work(n, n, n, *way) for n in (128, 512, 1024, 2048, 4096) for way in ((1,), (2, 1))]
    works += [Work(n, n, n, aligned=0) for n in (1023, 4097)]
    works = [one._replace(packed=2 * one.M * one.K) for one in works]
    rows = [Timing("wide", one, float(microseconds(wide, GPU, one))) for one in works]
    tiles, costs, error = fit(rows, shapes(wide=wide), 132, PACK, GPU)
    assert costs is GPU and error < 0.01
    for key in ("start", "latency", "step", "ragged", "cluster", "pack"):
        assert getattr(tiles["wide"], key) == pytest.approx(getattr(wide, key), rel=0.05), key


def test_a_step_that_has_a_stream_alone_has_pieces_and_a_memory_of_its_own():
    flat = Tile(128, 64, 32, 1, 3.5, 0.5, 0.4, 1.2, 1.0, pack=2.0, piece=6.0, gbs=2500.0)
    sides = itertools.product((128, 1024, 8192), (64, 1000, 4096), (64, 1000, 8192))
    works = [Work(M, N, K, stream=132, aligned=n % 2, packed=K * N)
             for n, (M, N, K) in enumerate(sides)]  # fmt: skip
    rows = [Timing("flat", one, float(microseconds(flat, GPU, one))) for one in works]
    tiles, _, error = fit(rows, shapes(flat=flat), 132, PACK + STREAM, GPU)
    assert error < 0.02
    for key in ("step", "piece", "gbs", "pack"):
        assert getattr(tiles["flat"], key) == pytest.approx(getattr(flat, key), rel=0.1), key


def test_noise_and_an_outlier_do_little_harm():
    rows = timings(0.05)
    rows[5] = rows[5]._replace(us=30 * rows[5].us)
    tiles, _, error = fit(rows, SHAPES, 132)
    assert 0.04 < error < 0.25
    assert tiles["large"].step == pytest.approx(TILES["large"].step, rel=0.1)


def test_a_large_error_counts_by_its_size_a_small_one_by_its_square():
    """Of 1 and 9 times 0, the mean is 0.1, and the median 0: an outlier moves the fit little."""
    values = np.array([1.0] + 9 * [0.0])
    (found,) = least_squares(lambda p: p[0] - values, np.array([0.5]))
    assert 0 < found < 0.03
    assert cost(np.array([3.0])) == pytest.approx(3 / OUTLIER - 1, rel=0.01)
    assert cost(np.array([0.01])) == pytest.approx(0.5 * (0.01 / OUTLIER) ** 2, rel=0.01)


def test_least_squares_of_a_line():
    x = np.arange(10.0)
    found = least_squares(lambda p: p[0] * x + p[1] - (3 * x - 2), np.array([1.0, 1.0]))
    assert found == pytest.approx([3, -2], abs=1e-3)


def test_shapes_are_drawn_the_same_every_time():
    found = drawn(2026, 64)
    assert found == drawn(2026, 64) and found != drawn(1, 64)
    sides = np.array(found)
    assert sides.min() >= 16 and sides.max() <= 8192
    assert (sides[::2] % 2 == 1).all() and (sides[1::2] % 2 == 0).all()
    assert 0.4 < (sides < np.sqrt(16 * 8192)).mean() < 0.6  # logarithms are uniform
