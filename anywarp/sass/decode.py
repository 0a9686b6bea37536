"""What an instruction reads and writes, from its 128 bits.

`FORMS` has a row for each opcode, the low 12 bits, that steps 02 to 17 and 19 and most of
their variants compile to for compute capability 9.0. Anything else is refused: who rewrites code
has to know all of it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from . import elf
from .encoding import (
    CONTROL_SHIFT,
    P0,
    PT,
    R0,
    RZ,
    UP0,
    UR0,
    URZ,
    ZERO,
    Control,
    control,
    field,
    name,
    with_field,
)

# Opcode: name, kind and fields. Kinds: what takes a fixed time, "alu", "wide" (two registers),
# "uniform" (the scalar unit of a warp); what takes as long as it takes and raises a scoreboard,
# "variable"; "memory" is that, in order, too; "control".
# Fields: d a b c are registers at bits 16, 24, 32 and 64, capitals are pairs, M and N what memory
# moves, as wide as the instruction says, at bits 16 and 32; e f u v and E F U V uniform registers
# at the same places; digits are predicates: 1 2 written at bits 81 and 84, 3 4 5 read at bits 87,
# 77 and 68, uniform ones 6 7, and 8 9 0; p all predicates that the mask at bit 32 has. What is
# written stands before ">".
FORMS = {
    0x202: "MOV alu d>b",
    0x802: "MOV alu d>",
    0xC02: "MOV alu d>u",
    0x207: "SEL alu d>ab3",
    0x807: "SEL alu d>a3",
    0xC07: "SEL alu d>au3",
    0x20B: "FSETP alu 12>ab3",
    0xC0B: "FSETP alu 12>au3",
    0x20C: "ISETP alu 12>ab35",
    0x80C: "ISETP alu 12>a35",
    0xC0C: "ISETP alu 12>au35",
    0x210: "IADD3 alu d12>abc34",
    0x810: "IADD3 alu d12>ac34",
    0xC10: "IADD3 alu d12>auc34",
    0x211: "LEA alu d1>abc3",
    0x811: "LEA alu d1>ac3",
    0xC11: "LEA alu d1>auc3",
    0x212: "LOP3 alu d1>abc3",
    0x812: "LOP3 alu d1>ac3",
    0xC12: "LOP3 alu d1>auc3",
    0x213: "IABS alu d>b",
    0x219: "SHF alu d>abc",
    0x819: "SHF alu d>ac",
    0x81C: "PLOP3 alu 12>345",
    0x220: "FMUL alu d>ab",
    0x820: "FMUL alu d>a",
    0xC20: "FMUL alu d>au",
    0x223: "FFMA alu d>abc",
    0xC23: "FFMA alu d>auc",
    0x224: "IMAD alu d1>abc3",
    0x824: "IMAD alu d1>ac3",
    0xC24: "IMAD alu d1>auc3",
    0xE24: "IMAD alu d1>auc3",
    0x225: "IMAD.WIDE wide D1>abC3",
    0x825: "IMAD.WIDE wide D1>aC3",
    0xC25: "IMAD.WIDE wide D1>auC3",
    0xE25: "IMAD.WIDE wide D1>aUc3",
    0x227: "IMAD.HI wide d1>abC3",
    0x827: "IMAD.HI wide d1>aC3",
    0x435: "HFMA2.MMA alu d>ac",
    0x803: "P2R alu d>ap",
    0x805: "CS2R alu D>",
    0x248: "VIMNMX alu d>ab3",
    0x848: "VIMNMX alu d>a3",
    0xC48: "VIMNMX alu d>au3",
    0x282: "UMOV uniform e>u",
    0x882: "UMOV uniform e>",
    0xC82: "UMOV uniform e>u",
    0x28C: "UISETP uniform 67>fu8",
    0x88C: "UISETP uniform 67>f8",
    0x290: "UIADD3 uniform e67>fuv89",
    0x890: "UIADD3 uniform e67>fv89",
    0x291: "ULEA uniform e6>fuv8",
    0x292: "ULOP3 uniform e6>fuv8",
    0x892: "ULOP3 uniform e6>fv8",
    0x899: "USHF uniform e>fv",
    0x89C: "UPLOP3 uniform 67>890",
    0x287: "USEL uniform e>fu8",
    0x887: "USEL uniform e>f8",
    0x2A5: "UIMAD.WIDE uniform E6>fuV8",
    0x246: "VIADDMNMX alu d>abc3",
    0x446: "VIADDMNMX alu d>ac3",
    0x846: "VIADDMNMX alu d>ac3",
    0x2CA: "R2UR alu e1>a",
    0xD06: "I2F variable d>u",
    0x2A4: "UIMAD uniform e6>fuv8",
    0x8A4: "UIMAD uniform e6>fv8",
    0x8A5: "UIMAD.WIDE uniform E6>fV8",
    0x305: "F2I variable d>b",
    0x306: "I2F variable d>b",
    0x308: "MUFU variable d>b",
    0x589: "SHFL variable d1>ab",
    0x919: "S2R variable d>",
    0x9C3: "S2UR variable e>",
    0xB82: "LDC variable M>a",
    0xAB9: "ULDC uniform W>",
    0x981: "LDG memory M>AU",
    0x986: "STG memory >ANV",
    0x984: "LDS memory M>a",
    0x388: "STS memory >aN",
    0xFAE: "LDGSTS memory >dAV3",
    0x918: "NOP control >",
    0x91A: "DEPBAR control >",
    0x9AF: "LDGDEPBAR control >",
    0xB1D: "BAR control >",
    0x941: "BSYNC control >3",
    0x945: "BSSY control >3",
    0x947: "BRA control >3",
    0x94D: "EXIT control >3",
}  # fmt: skip
A, B, C, D = 24, 32, 64, 16  # where the fields of registers begin
VECTOR = dict(zip("dabcDABCMN", (D, A, B, C, D, A, B, C, D, B)))
UNIFORM = dict(zip("efuvEFUVW", (D, A, B, C, D, A, B, C, D)))
PLACES = {  # of a field: its shift, its bits, the first of its kind and the one that is none
    **{letter: (shift, 8, R0, RZ) for letter, shift in VECTOR.items()},
    **{letter: (shift, 6, UR0, URZ) for letter, shift in UNIFORM.items()},
    **{digit: (shift, 3, P0, PT) for digit, shift in zip("12345", (81, 84, 87, 77, 68))},
    **{digit: (shift, 3, UP0, PT) for digit, shift in zip("67890", (81, 84, 87, 77, 68))},
}
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
        results, operands = (", ".join(map(name, places)) for places in (self.writes, self._firsts))
        guard = "" if self.guard is None else f"@{'!' * self.guard[1]}{name(self.guard[0])} "
        return f"{guard}{self.name} {results}{' <- ' if results else ''}{operands}"

    @property
    def _firsts(self) -> list[int]:
        return [operand[0] for operand in self.reads]

    @property
    def pure(self) -> bool:
        """Whether it gives the same for the same operands, whenever it is executed."""
        clock = self.name == "CS2R" and field(self.word, SPECIAL_SHIFT, SPECIAL_BITS) != SRZ
        return (self.kind in PURE and not clock) or self.name in SAME

    @functools.cached_property
    def writes(self) -> tuple[int, ...]:
        return tuple(place for place in self.results if place != ZERO)

    @functools.cached_property
    def places_read(self) -> frozenset[int]:
        """Those of all operands and of the guard."""
        found = {place for operand in self.reads for place in operand} - {ZERO}
        return frozenset(found | ({self.guard[0]} if self.guard else set()))


def instructions(cubin: bytes) -> tuple[Instruction, ...]:
    """The code of a cubin with one kernel. Raises Unknown."""
    return tuple(map(decode, elf.words(cubin)))


@functools.cache
def decode(word: int) -> Instruction:
    """Raises Unknown for an opcode that the table lacks, or a form of it that is not known."""
    code = field(word, 0, 12)
    if code not in FORMS:
        raise Unknown(f"no row for opcode {code:#05x} ({word:#034x})")
    mnemonic, kind, fields = FORMS[code].split(" ")
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
    key = word & ((1 << CONTROL_SHIFT) - 1)
    for letter in (written + read).replace("p", ""):
        shift, bits, *_ = PLACES[letter]
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
        control(word),
    )


def _places(word: int, letter: str) -> tuple[int, ...]:
    if letter == "p":
        return tuple(P0 + n for n in range(PT) if field(word, B + n, 1)) or (ZERO,)
    shift, bits, first, none = PLACES[letter]
    number = field(word, shift, bits)
    if number == none:
        return (ZERO,)
    width = _width(word, letter)
    if number % width or number + width > none:
        raise Unknown(f"{width} registers from number {number} on ({word:#034x})")
    return tuple(range(first + number, first + number + width))


def _slot(word: int, read: str, letter: str) -> int:
    held = [_places(word, one)[0] for one in (letter, letter.upper()) if one in read]
    return held[0] if held else ZERO


def _width(word: int, letter: str) -> int:
    if letter in "MNW":
        return {4: 1, 5: 2, 6: 4}.get(field(word, SIZE_SHIFT, 3), 1)
    return 2 if letter.isupper() else 1


def placed(word: int, letter: str, number: int) -> int:
    """The word with another register in a field."""
    shift, bits, *_ = PLACES[letter]
    return with_field(word, shift, bits, number)
