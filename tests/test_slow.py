"""What a plain pytest leaves out is what others do once: every step is looked at in each way, but
for all counters of those that take long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import test_check
import test_mutations
import test_targets
from slow import checked_in_its_chapter, code_of, heavy, sanitized_in_its_chapter

import kernels
from tests.kernels.measure import test_profiling

BITS_OF_ALL = "for one in kernels.steps():\n    shape = min(recorded[one.id], key=len)"
# Tests, and where else a step is looked at in that way, if they leave it out.
WAYS = {
    test_check.test_shipped_steps_are_right: checked_in_its_chapter,
    test_check.test_the_bits_are_those_of_a_real_gpu: lambda step: (
        BITS_OF_ALL in code_of("interpreter")
    ),
    test_profiling.test_computed_equals_measured: heavy,  # some counters stand in the chapters
    test_mutations.test_a_mutant_is_noticed: lambda step: False,
    test_targets.test_nothing_is_found_in_a_step: sanitized_in_its_chapter,
}


def plain(test) -> Iterator[str]:
    """The labels of the cases that a plain pytest runs."""
    for mark in test.pytestmark:
        for case in mark.args[1] if mark.name == "parametrize" else ():
            if hasattr(case, "marks") and not case.marks:
                yield from (getattr(value, "label", str(value)) for value in case.values)


@pytest.mark.parametrize("test", WAYS, ids=lambda test: test.__name__)
def test_no_step_is_left_out(test):
    labels = {label.partition(" ")[0] for label in plain(test)}
    steps = {step.id for step in kernels.steps()}
    assert labels & steps
    assert {step for step in steps - labels if not WAYS[test](step)} == set()
