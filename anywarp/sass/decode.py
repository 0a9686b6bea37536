"""What an instruction reads and writes, from its 128 bits.

`ROWS` has each opcode, the low 12 bits, that steps 02 to 17 and 19 and most of their variants
compile to for compute capability 9.0. Anything else is refused: who rewrites code
has to know all of it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from . import elf, encoding
from .encoding import FIELDS, P0, PT, UP0, ZERO, Control, field, name, with_field

# Name, kind, fields and opcodes. Kinds: what takes a fixed time, "alu", "wide" (two registers),
# "uniform" (the scalar unit of a warp); what takes as long as it takes and raises a scoreboard,
# "variable"; "memory" is that, in order, too; "control".
# Fields: d a b c are registers at bits 16, 24, 32 and 64, capitals are pairs, M and N what memory
# moves, as wide as the instruction says, at bits 16 and 32; e f u v and E F U V uniform registers
# at the same places; digits are predicates: 1 2 written at bits 81 and 84, 3 4 5 read at bits 87,
# 77 and 68, uniform ones 6 7, and 8 9 0; p all predicates that the mask at bit 32 has. What is
# written stands before ">". The fields are those of the first opcode. Others of the same row have
# something else at bit 32: a constant those that begin with 4 or 8, a uniform register C and E.
ROWS = """\
MOV alu d>b 202 802 C02
SEL alu d>ab3 207 807 C07
FSETP alu 12>ab3 20B C0B
ISETP alu 12>ab35 20C 80C C0C
IADD3 alu d12>abc34 210 810 C10
LEA alu d1>abc3 211 811 C11
LOP3 alu d1>abc3 212 812 C12
IABS alu d>b 213
SHF alu d>abc 219 819
PLOP3 alu 12>345 81C
FMUL alu d>ab 220 820 C20
FFMA alu d>abc 223 C23
IMAD alu d1>abc3 224 824 C24 E24
IMAD.WIDE wide D1>abC3 225 825 C25
IMAD.WIDE wide D1>aUc3 E25
IMAD.HI wide d1>abC3 227 827
HFMA2.MMA alu d>ac 435
P2R alu d>ap 803
CS2R alu D> 805
VIMNMX alu d>ab3 248 848 C48
UMOV uniform e>u 282 882 C82
UISETP uniform 67>fu8 28C 88C
UIADD3 uniform e67>fuv89 290 890
ULEA uniform e6>fuv8 291
ULOP3 uniform e6>fuv8 292 892
USHF uniform e>fv 899
UPLOP3 uniform 67>890 89C
USEL uniform e>fu8 287 887
UIMAD.WIDE uniform E6>fuV8 2A5 8A5
VIADDMNMX alu d>abc3 246 446 846
R2UR alu e1>a 2CA
I2F variable d>u D06
UIMAD uniform e6>fuv8 2A4 8A4
F2I variable d>b 305
I2F variable d>b 306
MUFU variable d>b 308
SHFL variable d1>ab 589
S2R variable d> 919
S2UR variable e> 9C3
LDC variable M>a B82
ULDC uniform W> AB9
LDG memory M>AU 981
STG memory >ANV 986
LDS memory M>a 984
STS memory >aN 388
LDGSTS memory >dAV3 FAE
NOP control > 918
DEPBAR control > 91A
LDGDEPBAR control > 9AF
BAR control > B1D
BSYNC control >3 941
BSSY control >3 945
BRA control >3 947
EXIT control >3 94D
"""
THIRD = (2, 3, 7)  # forms whose third operand is a constant: the second stands in its place
GUARD_SHIFT, GUARD_BITS = 12, 4
SPECIAL_SHIFT, SPECIAL_BITS, SRZ = 72, 8, 255  # the special register that CS2R reads; that of 0
WHOLE = 80  # CS2R: both registers are written
DIVERGENT = 91  # BRA: where the lanes of a warp differ from a uniform register
SIZE_SHIFT = 73  # of what memory moves: 4 stands for one register, 5 for two, 6 for four


PURE = {"alu", "wide", "uniform"}
SAME = {"LDC", "I2F", "F2I", "MUFU"}  # which give the same for the same operands, too


class Unknown(ValueError):
    """An instruction that no row of the table describes."""


@dataclass(frozen=True, eq=False)  # `decode` gives the same object for the same word
class Instruction:
    """An instruction. Places are numbers, see `encoding`; `reads` has those of one operand each,
    in the order of the fields, `ZERO` for RZ. `guard` is the predicate that must hold, and whether
    it is negated; None if there is none. `key` is the word without places, guard and control: two
    instructions with the same key do the same with what they read."""

    word: int
    name: str
    kind: str
    results: tuple[int, ...]  # the places written, `ZERO` for none, in the order of the fields
    reads: tuple[tuple[int, ...], ...]
    slots: tuple[int, ...]  # the vector registers of the three operands, each with a reuse cache
    guard: tuple[int, bool] | None
    never: bool  # a guard that never holds
    key: int
    control: Control

    def __repr__(self) -> str:
        firsts = [operand[0] for operand in self.reads]
        results, operands = (", ".join(map(name, places)) for places in (self.writes, firsts))
        guard = "" if self.guard is None else f"@{'!' * self.guard[1]}{name(self.guard[0])} "
        return f"{guard}{self.name} {results}{' <- ' if results else ''}{operands}"

    @property
    def pure(self) -> bool:
        """Whether it gives the same for the same operands, whenever it is executed."""
        clock = self.name == "CS2R" and field(self.word, SPECIAL_SHIFT, SPECIAL_BITS) != SRZ
        return (self.kind in PURE and not clock) or self.name in SAME

    @functools.cached_property
    def writes(self) -> tuple[int, ...]:
        """The places written."""
        return tuple(place for place in self.results if place != ZERO)

    @functools.cached_property
    def places_read(self) -> frozenset[int]:
        """Those of all operands and of the guard."""
        operands = *self.reads, (self.guard or ())[:1]
        return frozenset(place for operand in operands for place in operand) - {ZERO}


def _forms() -> dict[int, tuple[str, str, str]]:
    """By opcode: name, kind and fields."""
    forms = {}
    for mnemonic, kind, fields, *codes in map(str.split, ROWS.splitlines()):
        written, read = fields.split(">")
        for code in codes:
            if code != codes[0]:
                operand = "" if code[0] in "48" else "u"
                fields = f"{written}>{re.sub('b|u', operand, read, count=1)}"
            forms[int(code, 16)] = mnemonic, kind, fields
    return forms


FORMS = _forms()


def instructions(cubin: bytes) -> tuple[Instruction, ...]:
    """The code of a cubin with one kernel. Raises Unknown."""
    return tuple(map(decode, elf.words(cubin)))


@functools.cache
def decode(word: int) -> Instruction:
    """Raises Unknown for an opcode that the table lacks, or a form of it that is not known."""
    code = field(word, 0, 12)
    if code not in FORMS:
        raise Unknown(f"no row for opcode {code:#05x} ({word:#034x})")
    mnemonic, kind, fields = FORMS[code]
    if mnemonic == "BRA" and field(word, DIVERGENT, 1):
        raise Unknown(f"a branch where lanes differ ({word:#034x})")
    if mnemonic == "CS2R" and not field(word, WHOLE, 1):
        raise Unknown(f"a special register of 32 bits ({word:#034x})")
    written, _, read = fields.partition(">")
    if code == 0x81C and field(word, 67, 1):
        read = read.replace("5", "0")  # the third predicate is a uniform one
    if code in (0x984, 0x388) and field(word, 91, 1):
        read += "u" if code == 0x984 else "v"  # a uniform register more in the address
    places = [_places(word, letter) for letter in written]
    key = word & ((1 << encoding.CONTROL_SHIFT) - 1)
    for letter in (written + read).replace("p", ""):
        shift, bits, *_ = FIELDS[letter]
        key = with_field(key, shift, bits, 0)
    guard = field(word, GUARD_SHIFT, GUARD_BITS)
    first = UP0 if kind == "uniform" else P0
    return Instruction(
        word,
        mnemonic,
        kind,
        tuple(place for group in places for place in group),
        tuple(_places(word, letter) for letter in read),
        tuple(_slot(word, read, letter) for letter in ("acb" if code >> 9 in THIRD else "abc")),
        None if guard & 7 == PT else (first + (guard & 7), guard > 7),
        guard == 8 + PT,
        with_field(key, GUARD_SHIFT, GUARD_BITS, 0),
        encoding.control(word),
    )


def _places(word: int, letter: str) -> tuple[int, ...]:
    """The places of the registers in a field."""
    if letter == "p":
        return tuple(P0 + n for n in range(PT) if field(word, encoding.B + n, 1)) or (ZERO,)
    shift, bits, first, none = FIELDS[letter]
    number = field(word, shift, bits)
    if number == none:
        return (ZERO,)
    width = 2 if letter.isupper() else 1
    if letter in "MNW":
        width = {5: 2, 6: 4}.get(field(word, SIZE_SHIFT, 3), 1)
    if number % width or number + width > none:
        raise Unknown(f"{width} registers from number {number} on ({word:#034x})")
    return tuple(range(first + number, first + number + width))


def _slot(word: int, read: str, letter: str) -> int:
    """The vector register of an operand, whose reuse cache it goes through; ZERO if it has none."""
    return next((_places(word, x)[0] for x in (letter, letter.upper()) if x in read), ZERO)


def placed(word: int, letter: str, number: int) -> int:
    """The word with another register in a field."""
    shift, bits, *_ = FIELDS[letter]
    return with_field(word, shift, bits, number)
