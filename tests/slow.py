"""Tests that a plain `pytest` leaves out: marked `slow`, they do again, for variants, planted
faults, tile sizes, exercises and more kernels of a kind, what others do once. `pytest -m slow`
runs them, `pytest -m ""` runs all."""

import pytest

HEAVY = "16"  # from this step on, a product takes the interpreter long


def if_slow(slow: bool) -> list[pytest.MarkDecorator]:
    """The marks of a `pytest.param`."""
    return [pytest.mark.slow] if slow else []


def heavy(label: str) -> bool:
    """Whether this is the label of such a step, as "16_async_copy", of a variant of it, or the
    name of its chapter."""
    return HEAVY <= label[:2] <= "99"
