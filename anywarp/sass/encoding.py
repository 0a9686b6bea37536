"""The 128 bits of an instruction of compute capability 9.0: which bits are what.

NVIDIA does not document them; they were read off against nvdisasm 13. The low 105 bits say what is
done, to which registers; the others are for the scheduler, which has no interlocks for what takes a
known time: the compiler writes down how long to wait, and for what.
"""

from __future__ import annotations

from typing import NamedTuple

BITS = 128
CONTROL_SHIFT = 105
CONTROL = (105, 4), (109, 1), (110, 3), (113, 3), (116, 6), (122, 4)  # shift and bits of each
SCOREBOARDS = 6
NO_SCOREBOARD = 7

NOP = 0x000FC000000000000000000000007918

R0, P0, UR0, UP0 = 0, 1000, 2000, 3000  # where the numbers of each kind of register begin
RZ, PT, URZ = 255, 7, 63  # the registers that hold 0, or true
ZERO = -1  # the place that RZ and URZ name
PLACES = *range(RZ), *range(P0, P0 + PT), *range(UR0, UR0 + URZ), *range(UP0, UP0 + PT)


A, B, C, D = 24, 32, 64, 16  # where the fields of registers begin
VECTOR = dict(zip("dabcDABCMN", (D, A, B, C, D, A, B, C, D, B)))
UNIFORM = dict(zip("efuvEFUVW", (D, A, B, C, D, A, B, C, D)))
FIELDS = {  # of a field: its shift, its bits, the first of its kind and the one that is none
    **{letter: (shift, 8, R0, RZ) for letter, shift in VECTOR.items()},
    **{letter: (shift, 6, UR0, URZ) for letter, shift in UNIFORM.items()},
    **{digit: (shift, 3, P0, PT) for digit, shift in zip("12345", (81, 84, 87, 77, 68))},
    **{digit: (shift, 3, UP0, PT) for digit, shift in zip("67890", (81, 84, 87, 77, 68))},
}


class Control(NamedTuple):
    """What the scheduler is told: to issue the next instruction of the warp `stall` cycles later;
    to prefer this warp (`stay`), or with 0 to look at others; which scoreboard to raise until the
    result is there (`write`) or the operands have been read (`read`), 7 for none; for which
    scoreboards to wait before this instruction (`wait`, a bit for each); which operands to keep in
    the reuse caches (`reuse`, a bit for each place)."""

    stall: int
    stay: int
    write: int
    read: int
    wait: int
    reuse: int


def field(word: int, shift: int, bits: int) -> int:
    """The number in so many bits of a word."""
    return word >> shift & ((1 << bits) - 1)


def with_field(word: int, shift: int, bits: int, value: int) -> int:
    """The word with another number in these bits."""
    return word & ~(((1 << bits) - 1) << shift) | value << shift


def control(word: int) -> Control:
    """What an instruction tells the scheduler."""
    return Control(*(field(word, *at) for at in CONTROL))


def with_control(word: int, c: Control) -> int:
    """The instruction, telling the scheduler something else."""
    for at, value in zip(CONTROL, c):
        word = with_field(word, *at, value)
    return word


def name(place: int) -> str:
    """A register as NVIDIA's tools write it."""
    if place == ZERO:
        return "RZ"
    for first, letters in ((UP0, "UP"), (UR0, "UR"), (P0, "P")):
        if place >= first:
            return f"{letters}{place - first}"
    return f"R{place}"
