"""What is read from 128 bits is what nvdisasm 13 reads: the examples of each form of each opcode
are from the kernels of this book, compiled by NVRTC 12.9 and 13.0."""

import re
from pathlib import Path

import pytest

from anywarp.sass import elf
from anywarp.sass.decode import FORMS, decode, placed
from anywarp.sass.encoding import P0, R0, UP0, UR0, ZERO, control, with_control
from kernels import Kernel
from kernels.machine import Unknown

EXAMPLES = [
    line.split(" ", 1)
    for line in (Path(__file__).parents[2] / "data/machine_code.txt").read_text().splitlines()
]
KINDS = {"R": R0, "P": P0, "UR": UR0, "UP": UP0}


def named(text: str) -> set[int]:
    """The registers that a line of nvdisasm names."""
    guard, operands = re.fullmatch(r"(@\S+ )?\S+(.*)", text).groups()
    found = re.findall(r"\b(UR|UP|R|P)(\d+)\b", (guard or "") + operands)
    return {KINDS[letters] + int(number) for letters, number in found}


@pytest.mark.parametrize("word, text", EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_registers(word, text):
    i = decode(int(word, 16))
    firsts = {operand[0] for operand in i.reads} | ({i.guard[0]} if i.guard else set())
    assert named(text) <= firsts | set(i.writes)
    assert firsts - {ZERO} <= named(text)
    assert all(named(text) & set(range(place - 3, place + 1)) for place in i.writes)


@pytest.mark.parametrize("word, text", EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_names_guards_and_reuse(word, text):
    i = decode(int(word, 16))
    guard, mnemonic = re.match(r"(@!?U?P[\dT] )?([A-Z0-9]+)", text).groups()
    assert i.name.partition(".")[0] == mnemonic
    assert (guard is not None) == (i.guard is not None or i.never)
    assert (guard or "").startswith("@!") == bool(i.never or (i.guard and i.guard[1]))
    kept = {f"R{i.slots[slot]}" for slot in range(3) if i.control.reuse >> slot & 1}
    assert kept == set(re.findall(r"(R\d+)\.reuse", text))


def test_every_row_has_a_name_a_kind_and_fields():
    for row in FORMS.values():
        name, kind, fields = row
        assert kind in {"alu", "wide", "uniform", "variable", "memory", "control"}, name
        assert fields.count(">") == 1
    used = {int(word, 16) & 0xFFF for word, _ in EXAMPLES}
    assert used <= set(FORMS) and len(used) > 60


def test_the_same_word_is_the_same_object_and_another_register_another():
    word = int(EXAMPLES[0][0], 16)
    assert decode(word) is decode(word)
    assert decode(placed(word, "d", 77)).writes == (77,)
    assert decode(placed(word, "d", 77)).key == decode(word).key


def test_control_bits_go_in_and_out():
    word = int(EXAMPLES[0][0], 16)
    changed = control(word)._replace(stall=9, write=3, wait=0b101, reuse=10)
    assert control(with_control(word, changed)) == changed
    assert decode(with_control(word, changed)).key == decode(word).key


def test_an_opcode_that_no_row_has():
    with pytest.raises(Unknown, match="no row for opcode 0xfff"):
        decode(0xFFF)


@pytest.mark.parametrize(
    "word",
    [
        placed(0x000FE20000000C000000100016087984, "M", 233),  # LDS.128 R233
        placed(0x000FE20000000C000000100016087984, "M", 252),  # the last of which is RZ
        placed(0x000FE20000000A000000820000067AB9, "W", 7),  # ULDC.64 UR7
        placed(0x001FD400078E021A00000004041A7825, "C", 27),  # IMAD.WIDE
    ],
    ids=hex,
)
def test_registers_that_are_not_aligned(word):
    with pytest.raises(Unknown, match="registers from number"):
        decode(word)


def test_other_forms_of_an_opcode():
    branch, special = 0x000FC0000383FFFFFFFFFFFC00FC7947, 0x000FE4000001FF0000000000001E7805
    assert decode(branch).name == "BRA" and decode(special).writes == (30, 31)
    with pytest.raises(Unknown, match="where lanes differ"):
        decode(branch | 1 << 91)  # BRA.DIV
    with pytest.raises(Unknown, match="of 32 bits"):
        decode(special ^ 1 << 80)  # CS2R.32


def test_a_cubin_of_several_kernels():
    source = 'extern "C" __global__ void f() {}\nextern "C" __global__ void g() {}'
    kernel = Kernel(source, "f", names=("f", "g"))
    with pytest.raises(ValueError, match="one kernel is wanted"):
        elf.words(kernel.cubin("sm_90"))
