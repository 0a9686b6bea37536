"""Sectors and cache lines, against counting with Python sets."""

import numpy as np
import pytest

from anywarp import analysis

FUNCTIONS = {analysis.sectors: 32, analysis.cache_lines: 128}


def by_hand(addresses, active, grain):
    return len({int(a) // grain for a, on in zip(addresses, active, strict=True) if on})


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_random_addresses(function, width):
    random = np.random.default_rng(width)
    addresses = random.integers(0, 400, size=(50, 3, 32)) * width
    active = random.random((50, 3, 32)) < random.random((50, 3, 1))
    active[0, 0] = False
    counts = function(addresses, width, active)
    assert counts.shape == (50, 3) and counts[0, 0] == 0
    for where in np.ndindex(50, 3):
        assert counts[where] == by_hand(addresses[where], active[where], FUNCTIONS[function])


def test_known_patterns():
    lane = np.arange(32)
    assert analysis.sectors(4 * lane, 4) == 4
    assert analysis.sectors(4 * lane + 64, 4) == 4
    assert analysis.sectors(4 * lane + 4, 4) == 5  # one word past a boundary
    assert analysis.sectors(0 * lane, 4) == 1
    assert analysis.sectors(4096 * lane, 4) == 32
    assert analysis.sectors(16 * lane, 16) == 16
    assert analysis.cache_lines(16 * lane, 16) == 4


def test_ideal_is_what_distinct_bytes_need():
    lane = np.arange(32)
    assert analysis.ideal_sectors(4096 * lane, 4) == 4  # 128 bytes
    assert analysis.ideal_sectors(0 * lane, 4) == 1
    assert analysis.ideal_sectors(16 * lane, 16) == 16
    assert analysis.ideal_sectors(4 * lane, 4, lane < 9) == 2
    assert analysis.ideal_sectors(4 * lane, 4, lane < 0) == 0


@pytest.mark.parametrize("function", [*FUNCTIONS, analysis.ideal_sectors])
def test_width_that_hardware_lacks(function):
    with pytest.raises(ValueError, match="not 12"):
        function(np.arange(32), 12)
