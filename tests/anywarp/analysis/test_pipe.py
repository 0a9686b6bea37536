"""Wavefronts of global and local accesses in the data pipe: by hand, and against hardware."""

import json
from pathlib import Path

import numpy as np
import pytest

import kernels
from anywarp import analysis
from anywarp.analysis.pipe import TAG_MASKS
from anywarp.trace.metrics import PIPE
from benchmarks import patterns
from kernels.records import FOLDER

LANE = np.arange(32)
MEASURED = sorted(FOLDER.glob("*/patterns.json"))


def rounds_by_hand(addresses, active):
    """The lanes of each round, of at most one line for each bank of tags."""
    left = [lane for lane in range(32) if active[lane]]
    while left:
        served = {}
        for lane in left:
            line = int(addresses[lane]) // 128
            served.setdefault(tuple((line & mask).bit_count() % 2 for mask in TAG_MASKS), line)
        now = [lane for lane in left if int(addresses[lane]) // 128 in served.values()]
        left = [lane for lane in left if lane not in now]
        yield now


def together_by_hand(addresses, width, lanes):
    """Wavefronts of data for lanes that come at once, in words and sets."""
    banks = {}
    for lane in lanes:
        for word in range(int(addresses[lane]) // 4, (int(addresses[lane]) + width) // 4):
            group = lane * width // 128
            banks.setdefault(group, {}).setdefault(word % 32, set()).add(word)
    return sum(max(map(len, bank.values())) for bank in banks.values())


def by_hand(addresses, width, active, kind, hits):
    """Wavefronts of tags and of data."""
    rounds = list(rounds_by_hand(addresses, active))
    at_once = [[lane for now in rounds[:8] for lane in now], *rounds[8:]]
    if kind == "load":
        hitting = [lane for now in rounds for lane in now if hits[lane]]
        at_once = [hitting, *([lane for lane in now if not hits[lane]] for now in rounds)]
    return len(rounds), sum(together_by_hand(addresses, width, lanes) for lanes in at_once)


@pytest.mark.parametrize("kind", ["load", "store"])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_random_accesses(width, kind):
    random = np.random.default_rng(width)
    reach = random.choice([256, 4096, 1 << 22], (60, 1))
    addresses = random.integers(0, reach // width, (60, 32)) * width
    active = random.random((60, 32)) < random.choice([0, 0.3, 0.9, 1.1], (60, 1))
    hits = random.random((60, 32)) < random.choice([0, 0.9, 1], (60, 1))
    expected = [
        by_hand(*each, kind, hit) for *each, hit in zip(addresses, [width] * 60, active, hits)
    ]
    counts = analysis.global_wavefronts(addresses, width, active, kind, hits)
    np.testing.assert_array_equal(counts, [data for _, data in expected])
    tags = analysis.tag_wavefronts(addresses, width, active)
    np.testing.assert_array_equal(tags, [tags for tags, _ in expected])
    stacked = [x.reshape(3, 20, 32) for x in (addresses, active, hits)]
    again = analysis.global_wavefronts(stacked[0], width, stacked[1], kind, stacked[2])
    np.testing.assert_array_equal(again.ravel(), counts)


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.parent.name)
def test_what_a_gpu_counted(path):
    """All patterns, but for a number that is the same in all launches of a kernel: what its warp
    takes of the pipe besides."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    rest = {}
    for one in recorded["patterns"]:
        pattern = patterns.Pattern(one["name"], one["width"], tuple(one["units"]), one["active"])
        for what, counts in one["counts"].items():
            space, kind = what.split()
            count = analysis.wavefronts if space == "shared" else analysis.global_wavefronts
            counted = count(pattern.addresses, pattern.width, pattern.mask, kind)
            measured = counts[recorded["metrics"][what].index(PIPE)]
            rest.setdefault(what, []).append(measured - int(counted))
    assert set(rest) == {"shared load", "shared store", "global load", "global store"}
    for what, each in rest.items():
        usual = max(set(each), key=each.count)
        assert len(each) > 600 and 0 < usual < 5, what
        assert sum(n != usual for n in each) <= (what == "shared store"), what  # arbitration, once


def test_known_patterns():
    count = analysis.global_wavefronts
    assert [count(width * LANE, width) for width in (4, 8, 16)] == [1, 2, 4]
    assert [count(0 * LANE, width) for width in (4, 8, 16)] == [1, 2, 4]
    assert count(1024 * LANE, 4) == 32  # a row of a matrix for each lane: one bank
    assert count(1020 * LANE, 4) == 9  # and rows of 255: 9 rounds, as misses
    assert count(1020 * LANE, 4, hits=True) == 1 and count(1020 * LANE, 4, kind="store") == 2
    assert [analysis.tag_wavefronts(n * LANE, 4) for n in (1020, 4)] == [9, 1]
    assert count(4 * LANE, 4, LANE < 0) == 0
    assert count(LANE, 1) == count(2 * LANE, 2) == 1
    assert analysis.ideal_global_wavefronts(1024 * LANE, 4) == 1
    assert analysis.ideal_global_wavefronts(2 * LANE, 2) == 1


def test_local_memory_lies_word_by_word():
    count = analysis.local_wavefronts
    assert [count(0 * LANE + 8, width) for width in (4, 8, 16)] == [1, 2, 4]
    assert count(4 * LANE, 4, kind="store") == 1  # each its own word, all in their own banks
    assert count(4 * LANE, 4) > 1  # in 32 lines


@pytest.mark.parametrize("function", [analysis.global_wavefronts, analysis.ideal_global_wavefronts])
def test_what_no_access_can_be(function):
    with pytest.raises(ValueError, match="multiples of 8"):
        function(8 * LANE + 4, 8)
    with pytest.raises(ValueError, match="32"):
        function(np.arange(31), 4)


def test_a_trace_knows_where_in_the_tags_an_access_begins():
    """The same pattern, shifted by whole lines, may take other wavefronts."""
    source = """
    extern "C" __global__ void k(const float* x, float* out)
    {
        float sum = 0.0f;
        for (int n = 0; n < 8; ++n)
            sum += x[32 * n + threadIdx.x % 2 * 32 + threadIdx.x];
        out[threadIdx.x] = sum;
    }"""
    each = [
        int(analysis.global_wavefronts(4 * (32 * n + LANE % 2 * 32 + LANE)[None], 4)[0])
        for n in range(8)
    ]
    assert len(set(each)) > 1
    x, out = np.ones(1024, np.float32), np.zeros(32, np.float32)
    trace = kernels.Kernel(source, "k").trace(1, 32, (x, out))
    assert trace.counters[PIPE] == sum(each) + 1


# -- cp.async -------------------------------------------------------------------------------


def copies():
    text = (Path(__file__).parents[2] / "data/nvidia_h200_copies.json").read_text()
    return json.loads(text)["patterns"]


def counted(copy) -> int:
    sources, targets = np.array(copy["sources"]), np.array(copy["targets"])
    return int(analysis.copy_wavefronts(sources, targets, copy["width"]))


def test_copies_take_the_wavefronts_that_were_measured():
    """Three patterns in four, and all in which neighbouring lanes write neighbouring words from
    one line or from a line each."""
    off = [abs(counted(copy) / copy["wavefronts"] - 1) for copy in copies()]
    assert sum(x == 0 for x in off) >= 57 and max(off) < 0.5 and np.mean(off) < 0.05
    for copy in copies():
        width, sources = copy["width"], copy["sources"]
        if (np.diff(sources) == width).all() or (np.diff(sources) >= 128).all():
            contiguous = (np.diff(copy["targets"]) == width).all()
            assert not contiguous or counted(copy) == copy["wavefronts"]


def test_copies_of_lanes_that_read_nothing():
    """They write zeros: no line is looked up for them but one, and their words are stored."""
    targets = 4 * np.arange(32)
    assert analysis.copy_wavefronts(np.full(32, -1), targets, 4) == 1
    assert analysis.copy_wavefronts(np.full(32, -1), 128 * np.arange(32), 4) == 32
    none = np.zeros(32, bool)
    assert analysis.copy_wavefronts(targets, targets, 4, none) == 0
