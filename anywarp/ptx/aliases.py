"""Names for types that every room of the interpreter uses.

Modules are written against what they use of a chunk's `machine.state.State` and of an instruction's
`machine.machine.Site`, which lie above them and may not be imported here; hence Any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Mask = Array | None  # bool, of a shape that broadcasts to (B, T); None for all threads
DType = Any  # what np.dtype takes
State = Any
Site = Any
Slots = Any  # machine.registers.Slots
Operand = Any  # one of the records of `text.syntax`
Registers = list[Array]
Execute = Callable[[State, Mask], None]
Reader = Callable[[Registers], Array]  # `Slots.reader` and `Slots.address` make them
Readers = list[Reader]
Extent = tuple[int, int, int]  # of a grid or a block, x first
Names = Callable[..., str | None]  # (space, Allocation, offset) -> what errors call the place
Progress = Callable[..., None] | None  # (done, total, note)
Elementwise = Callable[..., Any]  # arrays -> an array, or a tuple of them
