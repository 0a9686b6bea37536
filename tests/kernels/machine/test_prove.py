"""The proof takes what the rewriter makes, and nothing that has been spoiled."""

import pytest
from slow import if_slow

from anywarp.sass import elf
from anywarp.sass.decode import decode
from anywarp.sass.encoding import with_control, with_field
from kernels.machine import Different, Plan, prove, rewrite
from kernels.machine.prove import differences

from .code import END, FAULTS, Code, instructions, issued, original, rewritten

CS2R = 0x000FE4000001FF0000000000001E7805  # CS2R R30, SRZ
STG = 0x0003E2000C101D060000102062007986  # STG.E.128 desc[UR6][R98.64+0x10], R32
CLOCK = 0x50  # the special register that counts cycles


def test_the_compilers_code_does_what_it_does():
    prove(original(), original())


def test_the_rewritten_code_is_another_and_does_the_same():
    assert rewritten() != original()
    prove(original(), rewritten())
    code = Code()
    assert code.cubin() == rewritten()
    loop = slice(code.first, code.end)
    kept = [
        sum(i.control.reuse != 0 for i in instructions(cubin)[loop])
        for cubin in (original(), rewritten())
    ]
    assert kept[1] > kept[0]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=if_slow(n % 2 == 1)) for n, name in enumerate(FAULTS)]
)
def test_a_fault_is_found(name):
    code = Code()
    FAULTS[name](code)
    assert len(code.list) == len(instructions(rewritten()))
    spoiled = code.cubin()
    assert spoiled != rewritten()
    with pytest.raises(Different):
        prove(original(), spoiled)


@pytest.mark.parametrize("count", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 300))])
def test_too_few_registers_or_too_many(count):
    highest = max(r for i in instructions(rewritten()) for r in i.writes if r < 255)
    prove(original(), elf.with_registers(rewritten(), highest + 3))
    with pytest.raises(Different, match="registers do not hold"):
        prove(original(), elf.with_registers(rewritten(), count or highest + 2))


def test_a_change_outside_of_the_code():
    spoiled = bytearray(rewritten())
    spoiled[-1] ^= 1
    with pytest.raises(Different, match="more than the code"):
        prove(original(), bytes(spoiled))


def test_another_program():
    with pytest.raises(Different, match="same blocks"):
        prove(original(), original(edited=False))


def test_scoreboards_are_the_affair_of_hazards_but_those_that_count_copies():
    """What waits for a load may do so by any of them; a DEPBAR names the one that counts."""
    code = list(instructions(original()))
    for name, same in (("S2R", True), ("LDGDEPBAR", False)):
        n = next(n for n, i in enumerate(code) if i.name == name)
        i = code[n]
        other = decode(with_control(i.word, i.control._replace(write=i.control.write ^ 1)))
        found = differences(code, [*code[:n], other, *code[n + 1 :]])
        assert (found == []) == same


@pytest.mark.parametrize("special, same", [(255, True), (CLOCK, False)])
def test_a_clock_that_is_read_twice(special, same):
    """It gives two values; the register of zeros gives one."""
    read = with_field(CS2R, 72, 8, special)
    reads = [issued(read, D=n) for n in (32, 34, 36, 38)]
    one, other = ([*reads, issued(STG, N=n), END] for n in (32, 36))
    assert (differences(one, other) == []) == same


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        Plan(load_gap=1, other_gap=1),
        Plan(load_gap=20, other_gap=30, barrier=0),
        Plan(barrier=100, first_load=20),
        Plan(by_rows=False, snake=False),
        Plan(reuse=False, stay=0),
    ],
    ids=str,
)
def test_other_orders_are_proved_too(plan):
    assert rewritten() not in (original(), found := rewrite(original(), plan))
    assert found != original()
