"""Whether a reader's own schedule computes the product as cheaply as it was meant to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..analysis.reference import CheckError, assert_close, inputs
from ..ladder.check.attempt import Attempt, Row
from .cost_model import Machine, predict
from .multiply import collect, multiply, spread
from .schedule import Schedule
from .slots import slots
from .verify import verify


def received(schedule: Schedule) -> list[int]:
    """Elements that each rank receives."""
    elements = [0] * schedule.ranks
    for transfer in (transfer for now in schedule.rounds for transfer in now.transfers):
        for target in transfer.targets:
            elements[target] += transfer.block.size
    return elements


def buffers(schedule: Schedule) -> list[int]:
    """Elements of the buffers that each rank needs beside its parts."""
    sizes = slots(schedule).sizes
    return [sum(sizes[rank]) for rank in range(schedule.ranks)]


GOALS: dict[str, tuple[str, Callable[[Schedule, Any], float]]] = {
    "rounds": ("rounds", lambda schedule, _: len(schedule.rounds)),
    "received": (
        "elements that a rank receives at most",
        lambda schedule, _: max(received(schedule)),
    ),
    "buffers": (
        "elements in the buffers of a rank at most",
        lambda schedule, _: max(buffers(schedule)),
    ),
    "seconds": ("s by the model", lambda schedule, machine: predict(schedule, machine).seconds),
}


def attempt(schedule: Schedule, machine: Machine | None = None, **goals: float) -> Attempt:
    """Verify a schedule, carry it out on ranks in this process and weigh it: a table.

    A goal is the most that is allowed: `rounds`, `received`, `buffers`, and `seconds` of ranks that
    are such a machine. Raises ValueError for a goal that there is not.
    """
    if "seconds" in goals and machine is None:
        raise ValueError("seconds are those of a machine: attempt(schedule, machine, seconds=…)")
    for name in goals:
        if name not in GOALS:
            raise ValueError(f"there is no goal {name!r}; there are {', '.join(GOALS)}")
    try:
        verify(schedule)
    except ValueError as error:
        missed = (Row(name, False, "", "not run") for name in ("right", *goals))
        return Attempt(schedule.name, (Row("verified", False, "", str(error)), *missed))
    rows = [Row("verified", True, "", f"{len(schedule.rounds)} rounds"), _right(schedule)]
    for name, most in goals.items():
        words, count = GOALS[name]
        value = count(schedule, machine)
        rows.append(Row(name, value <= most, f"at most {most:g}", f"{value:.6g} {words}"))
    return Attempt(schedule.name, tuple(rows))


def _right(schedule: Schedule) -> Row:
    A, B, _ = inputs(*schedule.shape)
    A_parts, B_parts = spread(schedule, A, B)
    C: Any = collect(schedule, multiply(A_parts, B_parts, schedule))
    try:
        assert_close(C, A, B)
    except CheckError as error:
        return Row("right", False, "", str(error))
    return Row("right", True, "", "within the error bound")
