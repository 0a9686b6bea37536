"""Costs of warps, each distinct one weighed once: the same as weighing every warp."""

import numpy as np
import pytest

from anywarp import analysis
from anywarp.trace import weighing
from anywarp.trace.weighing import LINE, TAGS, Patterns, near


def random_warps(turn: int, count: int = 60):
    """Warps of few kinds, some lanes inactive, each shifted by whole turns of its own."""
    random = np.random.default_rng(turn)
    kinds = random.integers(0, 3000, (7, 32)) * 4
    active = random.random((7, 32)) < 0.8
    active[3] = False
    which = random.integers(0, 7, count)
    return kinds[which] + random.integers(0, 50, (count, 1)) * turn, active[which]


@pytest.mark.parametrize("turn", [LINE, TAGS])
def test_a_shift_by_whole_turns_leaves_one_pattern(turn):
    addresses, active = random_warps(turn)
    rows = near(addresses, active, turn)
    assert len(np.unique(rows, axis=0)) == 7
    assert ((rows == -1) == ~active).all()
    first = np.where(active, rows, TAGS).min(-1)[active.any(-1)]
    assert (first >= 0).all() and (first < turn).all()
    moved = np.where(active, addresses - rows, 0)
    assert (moved % turn == 0).all()


@pytest.mark.parametrize(
    "count, turn", [(analysis.global_wavefronts, TAGS), (analysis.wavefronts, LINE)]
)
def test_the_sum_is_that_of_all_warps(count, turn):
    addresses, active = random_warps(turn)
    known = Patterns()
    weighed = []

    def weigh(rows):
        weighed.append(len(rows))
        return [f(rows, 4, rows >= 0).tolist() for f in (count, analysis.sectors)]

    want = count(addresses, 4, active).sum(), analysis.sectors(addresses, 4, active).sum()
    for _ in range(2):
        assert known.total(near(addresses, active, turn), "some", weigh) == want
    assert weighed == [7]
    known.total(near(addresses, active, turn), "others", weigh)
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
