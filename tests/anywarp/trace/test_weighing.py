"""Costs of warps, each distinct one weighed once: the same as weighing every warp."""

import numpy as np
import pytest

from anywarp import analysis
from anywarp.trace import weighing
from anywarp.trace.weighing import LINE, Patterns, near


def random_warps(turn: int, count: int = 60):
    """Warps of few kinds, some lanes inactive, each shifted by whole turns of its own."""
    random = np.random.default_rng(turn)
    kinds = random.integers(0, 3000, (7, 32)) * 4
    active = random.random((7, 32)) < 0.8
    active[3] = False
    which = random.integers(0, 7, count)
    return kinds[which] + random.integers(0, 50, (count, 1)) * turn, active[which]


@pytest.mark.parametrize("turn, tags", [(LINE, False), (LINE << 20, True)])
def test_a_shift_by_whole_turns_leaves_one_pattern(turn, tags):
    addresses, active = random_warps(turn)
    rows = near(addresses, active, tags)
    assert len(np.unique(rows, axis=0)) == 7
    assert ((rows == -1) == ~active).all()
    assert (np.where(active, rows, 1 << 60).min(-1)[active.any(-1)] < LINE).all()
    assert ((addresses - rows)[active] % LINE == 0).all()


def test_lines_keep_what_they_cost_to_be_found():
    """However far apart they are, and wherever the first of them is."""
    random = np.random.default_rng(3)
    reach = 1 << random.integers(8, 25, (300, 1))
    addresses = random.integers(0, reach, (300, 32)) * 4 + random.integers(0, 1 << 20, (300, 1)) * 4
    active = random.random((300, 32)) < random.choice([0.3, 0.9, 1], (300, 1))
    rows = near(addresses, active, tags=True)
    functions = (analysis.tag_wavefronts, analysis.global_wavefronts, analysis.sectors)
    for function in (*functions, analysis.cache_lines, analysis.ideal_global_wavefronts):
        np.testing.assert_array_equal(function(rows, 4, active), function(addresses, 4, active))
    assert len(set(analysis.tag_wavefronts(rows, 4, active).tolist())) > 10


@pytest.mark.parametrize(
    "count, turn", [(analysis.global_wavefronts, LINE << 20), (analysis.wavefronts, LINE)]
)
def test_the_sum_is_that_of_all_warps(count, turn):
    addresses, active = random_warps(turn)
    tags = count is analysis.global_wavefronts
    known = Patterns()
    weighed = []

    def weigh(rows):
        weighed.append(len(rows))
        return [f(rows, 4, rows >= 0).tolist() for f in (count, analysis.sectors)]

    want = count(addresses, 4, active).sum(), analysis.sectors(addresses, 4, active).sum()
    for _ in range(2):
        assert known.total(near(addresses, active, tags), "some", weigh) == want
    assert weighed == [7]
    known.total(near(addresses, active, tags), "others", weigh)
    assert weighed == [7, 7]  # of another kind


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize("shape", [(32,), (2, 32)])  # of a copy: where from and where to
def test_rows_are_told_apart(shape, count):
    kinds = np.random.default_rng(count).integers(0, 1 << 40, (4, *shape))
    kinds[1] = kinds[0]
    kinds[1, ..., 31] += 1
    which = np.arange(count) % 4
    found = weighing.distinct(kinds[which])
    assert found == {kinds[n].tobytes(): int((which == n).sum()) for n in range(min(count, 4))}


def test_too_many_patterns_are_forgotten(monkeypatch):
    monkeypatch.setattr(weighing, "PATTERNS", 4)
    known = Patterns()
    weigh = lambda rows: [rows.sum(-1).tolist()]
    for first in range(0, 12, 2):  # one is known when there is no room for the others
        warps = np.arange(first, first + 3)[:, None] + np.zeros((1, 32), np.int64)
        assert known.total(np.concatenate([warps, warps]), "some", weigh) == (64 * (3 * first + 3),)
        assert len(known.known["some"]) == 3
