"""Which thread and which register hold which element of a matrix."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..ptx.text.forms import Unsupported
from ..ptx.text.syntax import Instruction
from ..ptx.warps import matrix, warpgroup
from ..ptx.warps.descriptor import DEPTH
from .warps import Ints

HALVES = 64  # of a matrix of 8 x 8


class Fragment(NamedTuple):
    """The elements of one matrix: arrays of shape (registers, threads, elements of a register),
    the lowest bits of a register first."""

    register: str  # "a": the registers are a0, a1, …
    row: Ints
    column: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix: rows, columns."""
        return int(self.row.max()) + 1, int(self.column.max()) + 1


def fragments(instruction: str) -> dict[str, Fragment]:
    """By the names of the matrices, where the operands of an instruction have their elements.

    instruction: as in PTX, without operands: mma.sync…, whose matrices are A, B and D (C lies as D
    does); wgmma.mma_async…, of which it is D, in the registers of 128 threads; ldmatrix and
    stmatrix, whose matrices of 8 x 8 halves are 0, 1, …, each in one register. Raises ValueError
    for other instructions and for forms that the interpreter does not know.
    """
    opcode, *words = instruction.strip().split(".")
    try:
        return FRAGMENTS_OF[opcode](opcode, tuple(words))
    except (KeyError, IndexError, Unsupported):
        raise ValueError(
            f"there are no fragments of {instruction!r}: name an mma, wgmma, ldmatrix or stmatrix "
            "with all its modifiers, such as mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        ) from None


def _mma(opcode: str, words: tuple[str, ...]) -> dict[str, Fragment]:
    """A, B and D, as the interpreter has them."""
    shape, types = words[2], tuple(word for word in words[5:] if word != "satfinite")
    if words[:2] != ("sync", "aligned") or words[3:5] != ("row", "col"):
        raise Unsupported(".".join(words))
    if types not in matrix.PRODUCT_OF or shape not in matrix.SHAPES[types[1]]:
        raise Unsupported(".".join(words))
    named = sorted(zip("dab", types))
    return {x.upper(): Fragment(x, *matrix.fragment(x, shape, kind)) for x, kind in named}


def _wgmma(opcode: str, words: tuple[str, ...]) -> dict[str, Fragment]:
    """The registers of a matrix whose words are numbered say which word each of them holds."""
    types = warpgroup.TYPES.get((words[-3], words[-2], words[-1]))
    shape = re.fullmatch(r"m64n(\d+)k(\d+)", words[3])
    flags = words[4:-3]
    if words[:3] != ("mma_async", "sync", "aligned") or types is None or shape is None:
        raise Unsupported(".".join(words))
    columns, depth = map(int, shape.groups())
    known = columns in warpgroup.COLUMNS[types.element] and depth * types.element == DEPTH
    if not known or flags not in ((), ("satfinite",)):
        raise Unsupported(".".join(words))
    packed = 4 // np.dtype(types.total).itemsize  # elements of a word
    width = columns // packed
    numbers = np.arange(warpgroup.ROWS * width, dtype=np.uint32).reshape(1, -1, width)
    held = warpgroup.to_registers(numbers, 2 // packed)[:, 0, :, None].astype(np.int64)
    row, column = np.broadcast_arrays(held // width, held % width * packed + np.arange(packed))
    return {"D": Fragment("d", row, column)}


def _of_eights(opcode: str, words: tuple[str, ...]) -> dict[str, Fragment]:
    """Likewise, of matrices whose halves are numbered; stmatrix takes what ldmatrix gives."""
    count, trans, _ = matrix.form(Instruction(opcode, words, (), None, False, 0, None))
    numbers = np.arange(HALVES, dtype=np.uint16).view(np.uint32)
    held = (matrix.transposed(numbers) if trans else numbers).view(np.uint16)
    row, column = np.divmod(held.reshape(1, -1, 2).astype(np.int64), 8)
    return {str(n): Fragment(f"r{n}", row, column) for n in range(count)}


FRAGMENTS_OF = {"mma": _mma, "wgmma": _wgmma, "ldmatrix": _of_eights, "stmatrix": _of_eights}
