"""The declared spaces of tiles."""

from __future__ import annotations

import pytest

from anywarp.build import CompileError
from kernels.ladder import space
from kernels.ladder.space import SPACES, Space, candidates, points
from kernels.ladder.step import step


def test_points_are_all_choices_of_which_everything_holds():
    small = Space({"X": (1, 2, 3), "Y": (0, 1), "Z": (5,)}, ("X + Y <= 3", "Z - X > 2 or Y"))
    found = [tuple(point.values()) for point in points(small)]
    assert found == [(1, 0, 5), (1, 1, 5), (2, 0, 5), (2, 1, 5)]
    assert points(Space({"X": (1, 2)}, ("X > 2",))) == []


def test_a_constraint_speaks_of_what_is_searched():
    with pytest.raises(ValueError, match="'Q > 1' has the name Q"):
        points(Space({"X": (1, 2)}, ("Q > 1",)))


@pytest.mark.parametrize("name", SPACES)
def test_a_space_is_of_a_step_and_begins_with_its_defaults(name):
    first, *others = candidates(name)
    assert first == step(name) and len(others) > 50
    labels = [one.label for one in (first, *others)]
    assert len(set(labels)) == len(labels)
    assert all(step(label) == one for label, one in zip(labels[:20], (first, *others)))


def test_what_is_tried_compiles():
    """Seven of them, spread over the space: the tiles are none that the step refuses."""
    every = candidates("17")
    for one in every[:: len(every) // 6]:
        assert one.kernel.ptx


def test_what_is_left_out_by_the_step_itself():
    with pytest.raises(CompileError, match="a warp has 32 lanes"):
        assert step("17 WM=64").kernel


def test_a_step_without_a_space():
    with pytest.raises(ValueError, match="02_naive declares no space to search; 17_tile_space"):
        space.candidates("02")
