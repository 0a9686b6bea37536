"""Whether a reader's own schedule computes the product as cheaply as it was meant to."""

from __future__ import annotations

from typing import Any

from anywarp.testing import Goal

from ..analysis.reference import assert_close, inputs
from ..ladder.attempt import Attempt, attempted
from .cost_model import Machine, predict
from .multiply import collect, multiply, spread
from .schedule import Schedule
from .slots import slots
from .verify import ScheduleError, verify


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


GOALS = {  # of a schedule and the machine of its ranks
    "rounds": Goal("rounds", lambda both: len(both[0].rounds)),
    "received": Goal("elements that a rank receives at most", lambda both: max(received(both[0]))),
    "buffers": Goal(
        "elements in the buffers of a rank at most", lambda both: max(buffers(both[0]))
    ),
    "seconds": Goal("s by the model", lambda both: predict(*both).seconds),
}


def attempt(
    schedule: Schedule,
    machine: Machine | None = None,
    shape: tuple[int, int, int] | None = None,
    **goals: Any,
) -> Attempt:
    """Verify a schedule, carry it out on ranks in this process and weigh it: a table.

    A goal is the most that is allowed, or (least, most): `rounds`, `received`, `buffers`, and
    `seconds` of ranks that are such a machine. shape: M, N, K of the product that it has to be of.
    Raises ValueError for a goal that there is not.
    """
    if "seconds" in goals and machine is None:
        raise ValueError("seconds are those of a machine: attempt(schedule, machine, seconds=…)")

    def verified() -> str:
        if shape not in (None, schedule.shape):
            raise ScheduleError(f"a product of {schedule.shape}, not of {shape}")
        verify(schedule)
        return f"{len(schedule.rounds)} rounds"

    def right() -> str:
        A, B, _ = inputs(*schedule.shape)
        A_parts, B_parts = spread(schedule, A, B)
        assert_close(collect(schedule, multiply(A_parts, B_parts, schedule)), A, B)
        return "within the error bound"

    return attempted(schedule.name, (verified, right), lambda: (schedule, machine), goals, GOALS)
