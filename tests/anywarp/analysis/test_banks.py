"""Wavefronts of shared memory: against a slow count by sets, by hand, and against hardware."""

import json

import numpy as np
import pytest

from anywarp import analysis
from anywarp.trace.metrics import PIPE
from benchmarks import patterns
from kernels.records import FOLDER

LANE = np.arange(32)
MEASURED = sorted(FOLDER.glob("*/patterns.json"))


def by_hand(addresses, width, active, kind):
    """(wavefronts, groups with lanes), one warp, in words and sets."""
    words = [
        [a // 4 + n for n in range(width // 4)] if on else []
        for a, on in zip(addresses.tolist(), active.tolist(), strict=True)
    ]
    pairs = {
        n: all(not words[i] or not words[i ^ n] or words[i] == words[i ^ n] for i in range(32))
        for n in (1, 2)
    }
    size = {4: 32, 8: 16, 16: 8}[width]
    if width > 4 and kind == "load" and (pairs[1] or pairs[2]):
        size *= 2
    total = groups = 0
    for start in range(0, 32, size):
        banks = {}
        for lane in range(start, start + size):
            for word in words[lane]:
                banks.setdefault(word % 32, set()).add(word)
        total += max(map(len, banks.values()), default=0)
        groups += bool(banks)
    return total, groups


def random_warps(width, count=300):
    random = np.random.default_rng(width)
    units = random.integers(0, random.choice([4, 16, 64, 300], (count, 1)), (count, 32))
    units[::4] = units[::4][:, LANE & ~1]
    units[1::4] = units[1::4][:, LANE & ~2]
    active = random.random((count, 32)) < random.choice([0, 0.3, 0.9, 1.1], (count, 1))
    return units * width, active


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_random_addresses(width, kind):
    addresses, active = random_warps(width)
    counts = analysis.wavefronts(addresses, width, active, kind)
    conflicts = analysis.bank_conflicts(addresses, width, active, kind)
    expected = [by_hand(a, width, on, kind) for a, on in zip(addresses, active, strict=True)]
    np.testing.assert_array_equal(counts, [total for total, _ in expected])
    np.testing.assert_array_equal(conflicts, [total - groups for total, groups in expected])
    stacked = analysis.wavefronts(
        addresses.reshape(3, -1, 32), width, active.reshape(3, -1, 32), kind
    )
    np.testing.assert_array_equal(stacked.ravel(), counts)


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_each_lane_is_served_in_a_wavefront_that_has_room(width, kind):
    addresses, active = random_warps(width, 100)
    served = analysis.wavefront_of(addresses, width, active, kind)
    np.testing.assert_array_equal(served >= 0, active)
    np.testing.assert_array_equal(
        served.max(-1) + 1, analysis.wavefronts(addresses, width, active, kind)
    )
    for row, times, on in zip(addresses, served, active, strict=True):
        assert set(times[on]) == set(range(times.max() + 1))  # none is empty
        for wavefront in range(times.max() + 1):
            words = {
                a // 4 + n for a in row[times == wavefront].tolist() for n in range(width // 4)
            }
            assert len({word % 32 for word in words}) == len(words)


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_what_a_gpu_counted(path):
    recorded = json.loads(path.read_text(encoding="utf-8"))
    functions = {
        "wavefronts": analysis.wavefronts,
        "bank_conflicts": analysis.bank_conflicts,
        "sectors": lambda addresses, width, active, _: analysis.sectors(addresses, width, active),
    }
    compared = dict.fromkeys(
        ((what, width) for what in recorded["metrics"] for width in (4, 8, 16)), 0
    )
    for one in recorded["patterns"]:
        pattern = patterns.Pattern(one["name"], one["width"], tuple(one["units"]), one["active"])
        for what, counts in one["counts"].items():
            for metric, count in zip(recorded["metrics"][what], counts, strict=True):
                if metric == PIPE:  # test_pipe.py
                    continue
                name = next((name for name in functions if name in metric), None)
                expected = (
                    1
                    if name is None
                    else functions[name](  # instructions, requests
                        pattern.addresses, pattern.width, pattern.mask, what.split()[1]
                    )
                )
                assert count == expected, (pattern.name, pattern.width, what, metric)
            compared[what, pattern.width] += 1
    assert compared and min(compared.values()) >= 50
    assert all(n >= 100 for (what, _), n in compared.items() if what.startswith("shared"))


def test_known_patterns():
    assert analysis.wavefronts(4 * LANE, 4) == 1
    assert analysis.wavefronts(128 * LANE, 4) == 32
    assert analysis.wavefronts(132 * LANE, 4) == 1  # padded
    assert analysis.wavefronts(0 * LANE, 4) == 1
    assert analysis.wavefronts(8 * LANE, 8) == 2
    assert analysis.wavefronts(16 * LANE, 16) == 4
    assert analysis.wavefronts(0 * LANE, 16) == 2
    assert analysis.wavefronts(0 * LANE, 16, kind="store") == 4
    assert analysis.wavefronts(16 * LANE, 16, LANE < 8) == 1
    assert analysis.wavefronts(16 * LANE, 16, LANE < 0) == 0
    halves = np.where(LANE < 16, LANE & ~1, LANE) * 16  # one half-warp in pairs
    assert analysis.wavefronts(halves, 16) == 4  # does not merge on its own


def test_ideal():
    assert analysis.ideal_wavefronts(128 * LANE, 4) == 1
    assert analysis.ideal_wavefronts(16 * LANE, 16) == 4
    assert analysis.ideal_wavefronts(0 * LANE, 16) == 2  # no fewer: a half-warp each
    assert analysis.ideal_wavefronts(0 * LANE, 8, kind="store") == 2
    assert analysis.ideal_wavefronts(0 * LANE, 16, LANE < 0) == 0
    for width in (4, 8, 16):
        addresses, active = random_warps(width)
        assert (
            analysis.ideal_wavefronts(addresses, width, active)
            <= analysis.wavefronts(addresses, width, active)
        ).all()


@pytest.mark.parametrize(
    "function",
    [
        analysis.wavefronts,
        analysis.wavefront_of,
        analysis.bank_conflicts,
        analysis.ideal_wavefronts,
    ],
)
def test_wrong_arguments(function):
    with pytest.raises(ValueError, match="4, 8 or 16 bytes.*not 2"):
        function(LANE, 2)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 32\).*\(16,\)"):
        function(np.arange(16) * 4, 4)
    with pytest.raises(ValueError, match="float64"):
        function(LANE * 4.0, 4)
    with pytest.raises(ValueError, match="multiples of 8"):
        function(LANE * 4, 8)
    with pytest.raises(ValueError, match="bools"):
        function(LANE * 4, 4, LANE)
    with pytest.raises(ValueError, match=r"\(2, 32\)"):
        function(LANE * 4, 4, np.ones((2, 32), bool))
    function(LANE * 8 + 4 * (LANE == 3), 8, LANE != 3)  # nobody goes there


@pytest.mark.parametrize(
    "function", [analysis.wavefronts, analysis.wavefront_of, analysis.bank_conflicts]
)
def test_wrong_kind(function):
    with pytest.raises(ValueError, match="atomic"):
        function(LANE * 4, 4, None, "atomic")
