"""The model of what the hardware leaves to the compiler finds nothing in the compiler's own code.
That it finds what is wrong, `test_prove` shows."""

import pytest

import kernels
from anywarp.sass import elf
from anywarp.sass.decode import decode
from anywarp.sass.encoding import NOP, RZ
from kernels.machine import hazards
from kernels.machine.hazards import State, step

from .code import END, issued

R2UR = 0x004FE400000E000000000000040572CA  # R2UR UR5, R4
UMOV = 0x000FE200000000000000040000057882  # UMOV UR5, 0x400
ULDC = 0x000FE2000000080000008C0000057AB9  # ULDC UR5, c[0x0][0x230]
FROM_UNIFORM = 0x000FE2000F8E02020000000405047C25  # IMAD.WIDE R4, R5, UR4, R2
WIDE = 0x001FD400078E021A00000004041A7825  # IMAD.WIDE R26, R4, 0x4, R26
BRANCH = 0x000FC00003800000000000000004_7947  # BRA, over the next instruction
FFMA = 0x004FC600000000120000001C131D7223  # FFMA R29, R19, R28, R18
STEPS = [one for one in kernels.steps() if one.number < 18]


@pytest.mark.parametrize("one", STEPS, ids=str)
def test_the_compilers_own_code(one):
    code = tuple(map(decode, elf.words(one.kernel.cubin("sm_90"))))
    assert hazards.findings(code) == []


def test_what_is_under_way_on_any_path_counts():
    load = next(i for word, i in _examples() if i.name == "LDS" and i.control.write < 7)
    one, other = State(), State()
    step(other, load)
    assert one.join(other) and one.pending == other.pending
    assert not one.join(other)
    assert hazards.early(one, load)


def test_a_block_begins_with_what_any_of_its_ways_left():
    late, read = issued(R2UR, e=10), issued(FROM_UNIFORM, u=10)
    told = "2: IMAD.WIDE reads UR10 1 cycles after R2UR was issued"
    assert told in hazards.findings([issued(BRANCH, guard=0), late, read, END])
    assert told not in hazards.findings([issued(BRANCH, guard=0), issued(NOP), read, END])


@pytest.mark.parametrize("guard, count", [(0, 1), (7, 0)])
def test_a_write_that_may_not_happen_hides_no_other(guard, count):
    code = [issued(R2UR, e=10), issued(UMOV, 6, guard=guard, e=10), issued(FROM_UNIFORM, u=10), END]
    text = "2: IMAD.WIDE reads UR10 7 cycles after R2UR was issued"
    assert hazards.findings(code).count(text) == count


@pytest.mark.parametrize("first", (R2UR, ULDC))
def test_a_late_write_is_not_overtaken(first):
    late, other = issued(first, e=10) if first == R2UR else issued(first, W=10), issued(UMOV, e=10)
    assert hazards.findings([late, other, END]) == [f"1: UMOV writes UR10 before {late.name} has"]
    assert hazards.findings([late, issued(NOP, 15), other, END]) == []


@pytest.mark.parametrize("register, wrong", [(4, True), (5, True), (6, False)])
def test_both_registers_of_a_kept_pair_stay(register, wrong):
    code = [
        issued(WIDE, reuse=4, D=10, a=7, C=4),
        issued(FFMA, d=register, c=RZ),
        issued(WIDE, D=8, a=7, C=4),
        END,
    ]
    found = [line for line in hazards.findings(code) if "for reuse" in line]
    assert found == ["0: IMAD.WIDE keeps R4 for reuse, which FFMA overwrites"] * wrong


def test_a_warp_that_stays_does_not_stall_long():
    i = issued(FFMA, 12)
    assert step(State(), i) == []
    assert step(State(), decode(i.word | 1 << 109))


def _examples():
    words = elf.words(kernels.step("05_shared_tiling").kernel.cubin("sm_90"))
    return [(word, decode(word)) for word in words]
