"""A cubin is an ELF file: its sections, its code, and how many registers it asks for."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

EXECUTABLE = 4  # the flag of a section
CODE = ".text."  # before a kernel's symbol, the name of the section with its code
INSTRUCTION_BYTES = 16
RELOCATIONS = (4, 9)  # types of sections
INFO = 0x70000000  # the type of the sections that describe kernels
REGCOUNT = 0x2F  # an attribute there: how many registers a thread of a kernel gets
MAX_THREADS = 0x05  # another: how many threads its blocks may have along x, y and z
FOUR_BYTES = 4  # the format of an attribute with a size before its value


class Section(NamedTuple):
    """A section: its name, type and flags, where it stands in the file, and what its table is
    about."""

    name: str
    kind: int
    flags: int
    start: int
    size: int
    info: int


def sections(cubin: bytes) -> list[Section]:
    """All sections, in the order of their numbers."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, of_names = struct.unpack_from("<3H", cubin, 58)
    (names,) = struct.unpack_from("<Q", cubin, table + of_names * size + 24)
    result = []
    for at in range(table, table + count * size, size):
        name, kind, flags, _, start, length, _, info = struct.unpack_from("<IIQQQQII", cubin, at)
        text = cubin[names + name : cubin.index(0, names + name)].decode()
        result.append(Section(text, kind, flags, start, length, info))
    return result


def code_section(cubin: bytes, symbol: str | None = None) -> Section:
    """The section with the code of a kernel, by its symbol in the PTX; the only one without.

    Raises ValueError if the cubin has no such kernel, or none or several to choose from.
    """
    kernels = [section for section in sections(cubin) if section.flags & EXECUTABLE]
    if symbol is not None:
        kernels = [section for section in kernels if section.name == CODE + symbol]
    if len(kernels) != 1:
        which = "" if symbol is None else f" {symbol}"
        raise ValueError(f"a cubin with one kernel{which} is wanted, not with {len(kernels)}")
    return kernels[0]


def code(cubin: bytes, symbol: str | None = None) -> bytes:
    """What stands in that section. Raises ValueError."""
    section = code_section(cubin, symbol)
    return cubin[section.start : section.start + section.size]


def relocated(cubin: bytes) -> bool:
    """Whether the loader writes addresses into the code."""
    code_number = sections(cubin).index(code_section(cubin))
    tables = (table for table in sections(cubin) if table.kind in RELOCATIONS and table.size)
    return any(table.info == code_number for table in tables)


def words(cubin: bytes) -> list[int]:
    """The instructions, 128 bits each."""
    held = code(cubin)
    starts = range(0, len(held), INSTRUCTION_BYTES)
    return [int.from_bytes(held[n : n + INSTRUCTION_BYTES], "little") for n in starts]


def with_words(cubin: bytes, new: Sequence[int]) -> bytes:
    """The cubin with other instructions, as many as before."""
    section = code_section(cubin)
    held = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in new)
    if len(held) != section.size:
        raise ValueError(f"{len(held)} bytes of code do not fit into {section.size}")
    return cubin[: section.start] + held + cubin[section.start + section.size :]


def outside(cubin: bytes) -> bytes:
    """All of the cubin but its code and the number of registers."""
    section = code_section(cubin)
    plain = with_registers(cubin, 0)
    return plain[: section.start] + plain[section.start + section.size :]


def registers(cubin: bytes) -> int:
    """How many registers a thread of the cubin's one kernel gets."""
    (at,) = _attributes(cubin, REGCOUNT)
    return int(struct.unpack_from("<I", cubin, at + 4)[0])  # after the kernel's symbol


def with_registers(cubin: bytes, count: int) -> bytes:
    """The cubin asking for another number of registers."""
    (at,) = _attributes(cubin, REGCOUNT)
    return cubin[: at + 4] + struct.pack("<I", count) + cubin[at + 8 :]


def most_threads(cubin: bytes) -> int | None:
    """How many threads a block may have; None where the source does not say."""
    for at in _attributes(cubin, MAX_THREADS):
        return int(math.prod(struct.unpack_from("<3I", cubin, at)))
    return None


def _attributes(cubin: bytes, wanted: int) -> Iterator[int]:
    """Where the values of an attribute stand."""
    for section in sections(cubin):
        at, end = section.start, section.start + section.size
        while section.kind == INFO and at < end:
            form, attribute, size = struct.unpack_from("<BBH", cubin, at)
            if form == FOUR_BYTES and attribute == wanted:
                yield at + 4  # after the header
            at += 4 + (size if form == FOUR_BYTES else 0)
