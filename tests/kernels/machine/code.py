"""The kernel that the tests of `kernels.machine` take apart: its code, and faults planted in it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import kernels
from anywarp.compile import nvrtc
from anywarp.sass import elf
from anywarp.sass.decode import GUARD_BITS, GUARD_SHIFT, Instruction, decode, instructions, placed
from anywarp.sass.encoding import NO_SCOREBOARD, NOP, PT, Control, with_control, with_field
from kernels.machine import main_loops

IMMEDIATE = 32  # the bit where constants and offsets begin
END = decode(0x000FEA0003800000000000000000794D)  # EXIT
OFFSET = 40  # of memory accesses
NEGATED = 90  # a predicate that an instruction reads


STEP = "19_machine_code"
STORE = """
for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j)
        if (ROW(i) < rows && COL(j) < cols)
            C[(size_t)ROW(i) * ldc + COL(j)] = alpha * sum[i][j];
"""


def issued(
    word: int, stall: int = 1, reuse: int = 0, guard: int = PT, **fields: int
) -> Instruction:
    """An instruction with other registers, under another guard, and with control bits that say how
    long to wait, and no more."""
    for letter, number in fields.items():
        word = placed(word, letter, number)
    word = with_field(word, GUARD_SHIFT, GUARD_BITS, guard)
    return decode(with_control(word, Control(stall, 0, NO_SCOREBOARD, NO_SCOREBOARD, 0, reuse)))


@functools.cache
def original(edited: bool = True) -> bytes:
    """What the compiler makes of the step; with an end that is shorter, and so are the proofs."""
    step = kernels.step(STEP)
    if edited:
        step = step.edit(region="store", code=STORE)
    return step.kernel.compiled()


@functools.cache
def rewritten() -> bytes:
    """Skips the test where an NVRTC of another release than the book's makes code that is not
    known: such kernels run as they are compiled, as those of NVRTC 13.5 do."""
    try:
        return kernels.machine.rewrite(original())
    except kernels.machine.Refused as refused:
        if "=={}.{}.".format(*nvrtc.version()) in nvrtc.WHEEL:
            raise
        pytest.skip(f"NVRTC {nvrtc.version()} made it: {refused}")


class Code:
    """The instructions of the rewritten kernel, to spoil; `first` and `end` bound the first loop
    with products."""

    def __init__(self) -> None:
        self.list = list(instructions(rewritten()))
        part = main_loops(self.list)[0]
        self.first, self.end = part.first, part.end

    def find(self, name: str, first: int | None = None, end: int | None = None) -> list[int]:
        first, end = self.first if first is None else first, self.end if end is None else end
        return [
            n for n in range(first, end) if self.list[n].name == name and not self.list[n].never
        ]

    def put(self, n: int, word: int) -> None:
        self.list[n] = decode(word)

    def field(self, n: int, letter: str, number: int) -> None:
        self.put(n, placed(self.list[n].word, letter, number))

    def bits(self, n: int, shift: int, count: int, change: Callable[[int], int]) -> None:
        word = self.list[n].word
        old = word >> shift & ((1 << count) - 1)
        self.put(n, with_field(word, shift, count, change(old) & ((1 << count) - 1)))

    def control(self, n: int, **changes: int) -> None:
        i = self.list[n]
        self.put(n, with_control(i.word, i.control._replace(**changes)))

    def move(self, n: int, to: int) -> None:
        self.list.insert(to, self.list.pop(n))

    def cubin(self) -> bytes:
        return elf.with_words(rewritten(), [i.word for i in self.list])


def _kept(code: Code) -> int:
    """A product that keeps one of its factors, and whose next but one neighbour keeps it too."""
    return next(n for n in code.find("FFMA") if code.list[n].control.reuse)


def _first_copy(code: Code) -> int:
    return code.find("LDGSTS")[0]


def _epilogue(code: Code, name: str) -> int:
    return code.find(name, code.end, len(code.list))[-1]


def swapped_factors(c: Code) -> None:
    n, m = c.find("FFMA")[40:42]
    one, other = (c.list[k].slots[0] for k in (n, m))
    c.field(n, "a", other)
    c.field(m, "a", one)


def products_out_of_order(c: Code) -> None:
    """A product of one step after the product of the next step for the same sum."""
    n = c.find("FFMA")[127]
    m = next(k for k in c.find("FFMA") if k > n and c.list[k].writes == c.list[n].writes)
    one, other = c.list[n].word, c.list[m].word
    c.put(n, with_control(other, c.list[n].control._replace(reuse=0)))
    c.put(m, with_control(one, c.list[m].control._replace(reuse=0)))


def missing_wait(c: Code) -> None:
    c.control(next(n for n in c.find("FFMA")[1:] if c.list[n].control.wait), wait=0)


def missing_wait_of_the_first(c: Code) -> None:
    """For what is under way before the loop; not before each of them is something."""
    for part in main_loops(c.list):
        c.control(part.first, wait=0)


def load_on_the_copies_scoreboard(c: Code) -> None:
    for n in c.find("LDS"):
        c.control(n, write=0)


def unsignalled_copy(c: Code) -> None:
    for n in c.find("LDGSTS"):
        c.control(n, read=NO_SCOREBOARD)
    for n in c.find("LDS"):  # which say so too, since they come after
        c.control(n, read=NO_SCOREBOARD)


def wait_at_once(c: Code) -> None:
    """For a scoreboard that the instruction before raises."""
    n = next(n for n in c.find("LDS") if c.list[n + 1].name == "FFMA")
    c.control(n + 1, wait=1 << c.list[n].control.write)


def stale_reuse(c: Code) -> None:
    """A factor is kept, and the next product reads another."""
    n = next(n for n in c.find("FFMA") if c.list[n + 1].name == "FFMA"
             and c.list[n].slots[0] != c.list[n + 1].slots[0]
             and (c.list[n].slots[0] - c.list[n + 2].slots[0]) % 2 == 0)  # fmt: skip
    c.control(n, reuse=c.list[n].control.reuse | 1)


def reuse_of_the_sum(c: Code) -> None:
    """The sum is kept, and overwritten."""
    n = c.find("FFMA")[9]
    c.control(n, reuse=c.list[n].control.reuse | 4)


def load_too_early(c: Code) -> None:
    """Before the last products of the step before, whose operands it overwrites."""
    n = c.find("LDS")[6]
    c.move(n, n - 40)


def load_over_the_barrier(c: Code) -> None:
    n = next(n for n in c.find("LDS") if n > c.find("BAR")[0])
    c.move(n, c.find("BAR")[0])


def load_after_the_barrier(c: Code) -> None:
    n = [n for n in c.find("LDS") if n < c.find("DEPBAR")[0]][-1]
    c.move(n, c.find("BAR")[0] + 1)


def wait_for_fewer_copies(c: Code) -> None:
    c.bits(c.find("DEPBAR")[0], IMMEDIATE, 6, lambda old: old + 1)


def load_too_soon(c: Code) -> None:
    """After its address has been computed."""
    n = c.find("LDS")[0]
    made = max(k for k in range(c.first, n) if set(c.list[k].writes) & c.list[n].places_read)
    c.move(n, made + 1)


def other_constant(c: Code) -> None:
    """How far a pass moves on."""
    n = next(n for n in c.find("IADD3") if c.list[n].word & 0xFFF == 0x810)
    c.bits(n, IMMEDIATE, 32, lambda old: old + 4)


FAULTS: dict[str, Callable[[Code], None]] = {
    "negated_factor": lambda c: c.bits(c.find("FFMA")[77], 63, 1, lambda old: 1 - old),
    "dropped_product": lambda c: c.put(c.find("FFMA")[5], NOP),
    "missing_wait_of_the_last": lambda c: c.control(c.end - 1, wait=0),
    "unsignalled_load": lambda c: c.control(c.find("LDS")[-1], write=NO_SCOREBOARD),
    "reuse_over_the_branch": lambda c: c.control(c.find("FFMA")[-1], reuse=1),
    # which may write what the load is to read
    "load_down_over_a_copy": lambda c: c.move(c.find("LDS")[5], _first_copy(c) + 1),
    "dropped_load": lambda c: c.put(c.find("LDS")[20], NOP),
    "dropped_barrier": lambda c: c.put(c.find("BAR")[0], NOP),
    "dropped_wait_for_copies": lambda c: c.put(c.find("DEPBAR")[0], NOP),
    "barrier_before_the_wait": lambda c: c.move(c.find("BAR")[0], c.find("DEPBAR")[0]),
    "dropped_group": lambda c: c.put(c.find("LDGDEPBAR")[0], NOP),
    "group_before_its_last_copy": lambda c: c.move(c.find("LDGDEPBAR")[0], c.find("LDGSTS")[-1]),
    "lowered_stall": lambda c: c.control(c.find("DEPBAR")[0], stall=1),
    "no_stall": lambda c: c.control(c.find("FFMA")[33], stall=0),
    # a warp that stays does not wait for so many cycles
    "long_stall_that_is_not_kept": lambda c: c.control(c.find("FFMA")[33], stall=12, stay=1),
    "branch_elsewhere": lambda c: c.bits(c.end - 1, 16, 8, lambda old: old + 4),
    "store_elsewhere": lambda c: c.bits(_epilogue(c, "STG"), OFFSET, 24, lambda old: old + 4),
}
FAULTS |= {
    name: value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", None) == __name__
    and list(getattr(value, "__annotations__", {})) == ["c", "return"]
}
