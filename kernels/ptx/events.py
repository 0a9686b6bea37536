"""What a run tells whoever listens: `run(..., sink=f)` calls f with each event.

The interpreter knows nothing of what becomes of them. Arrays have the shape
(blocks of the chunk, threads of a block) or broadcast to it, masks too; threads are numbered x
first. A mask of None means that every thread takes part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .memory import Allocation
from .syntax import Entry, Instruction


@dataclass(frozen=True)
class Launched:
    """Comes first: what is run, and which bytes of each space belong to what."""
    entry: Entry
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    allocations: dict[str, tuple[Allocation, ...]]      # by space: global, shared, local, param


@dataclass(frozen=True)
class Executed:
    """A straight run of instructions, executed once by the threads of the mask."""
    instructions: tuple[Instruction, ...]
    blocks: np.ndarray              # (B,) linear block numbers
    threads: int                    # threads of a block
    mask: np.ndarray | None
    step: int                       # instructions run before, in this chunk


@dataclass(frozen=True)
class Guarded:
    """An instruction under a predicate, executed once by the threads of the mask: the Executed
    event before it says who came there."""
    instruction: Instruction
    mask: np.ndarray | None
    blocks: np.ndarray
    threads: int
    step: int


@dataclass(frozen=True)
class Access:
    """One memory instruction, executed once."""
    instruction: Instruction
    kind: str                       # "load", "store", "atomic"
    space: str                      # "global", "shared", "local", "const", "param"
    width: int                      # bytes for each thread
    address: np.ndarray             # int64 byte addresses within the space
    mask: np.ndarray | None
    blocks: np.ndarray
    threads: int
    step: int


@dataclass(frozen=True)
class Barrier:
    """The threads of the mask have all reached the barrier and go on."""
    instruction: Instruction
    number: int
    mask: np.ndarray | None
    blocks: np.ndarray
    threads: int
    step: int
