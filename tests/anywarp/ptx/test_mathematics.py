"""Functions of mathematics that clang leaves to the interpreter."""

from __future__ import annotations

import numpy as np

from anywarp.ptx.calls.mathematics import whole


def test_halves_go_away_from_zero_and_nothing_else_does():
    below = np.nextafter(0.5, 0)
    given = np.array([below, -below, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0**52 + 1, -0.0, np.inf])
    wanted = np.array([0.0, -0.0, 1, -1, 2, 3, -3, 2.0**52 + 1, -0.0, np.inf])
    np.testing.assert_array_equal(whole(given).view("u8"), wanted.view("u8"))
