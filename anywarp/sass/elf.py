"""A cubin is an ELF file: its sections, its code, and how many registers it asks for."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

EXECUTABLE = 4  # the flag of a section
INSTRUCTION_BYTES = 16
RELOCATIONS = (4, 9)  # types of sections
INFO = 0x70000000  # the type of the sections that describe kernels
REGCOUNT = 0x2F  # an attribute there: how many registers a thread of a kernel gets
MAX_THREADS = 0x05  # another: how many threads its blocks may have along x, y and z
FOUR_BYTES = 4  # the format of an attribute with a size before its value


class Section(NamedTuple):
    """A section: its type and flags, where it stands in the file, and what its table is about."""

    kind: int
    flags: int
    start: int
    size: int
    info: int


def sections(cubin: bytes) -> list[Section]:
    """All sections, in the order of their numbers."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count = struct.unpack_from("<2H", cubin, 58)
    result = []
    for at in range(table, table + count * size, size):
        _, kind, flags, _, start, length, _, info = struct.unpack_from("<IIQQQQII", cubin, at)
        result.append(Section(kind, flags, start, length, info))
    return result


def code_section(cubin: bytes) -> Section:
    """The section with the code of the cubin's one kernel. Raises ValueError for none or more."""
    executable = [section for section in sections(cubin) if section.flags & EXECUTABLE]
    if len(executable) != 1:
        raise ValueError(f"a cubin with one kernel is wanted, not with {len(executable)}")
    return executable[0]


def relocated(cubin: bytes) -> bool:
    """Whether the loader writes addresses into the code."""
    code_number = sections(cubin).index(code_section(cubin))
    tables = (table for table in sections(cubin) if table.kind in RELOCATIONS and table.size)
    return any(table.info == code_number for table in tables)


def words(cubin: bytes) -> list[int]:
    """The instructions, 128 bits each."""
    section = code_section(cubin)
    starts = range(section.start, section.start + section.size, INSTRUCTION_BYTES)
    return [int.from_bytes(cubin[n : n + INSTRUCTION_BYTES], "little") for n in starts]


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
