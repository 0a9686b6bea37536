"""A PTX interpreter: the kernels of the book without a GPU.

    module = parse(text)
    run(module.entries["sgemm"], grid, block, args)

It needs NumPy and nothing of the rest of the project.
"""

from .errors import Deadlock, Endless, MemoryFault, ParseError, PTXError, StepLimit, UnknownOpcode
from .machine.launch import statics
from .machine.machine import run
from .memory.allocations import Lying, offset
from .memory.events import Access, Barrier, Executed, Guarded, Launched, Started, Stretches
from .text.parser import parse
from .text.syntax import Entry, Instruction, Module, Position

__all__ = [
    "Access", "Barrier", "Deadlock", "Endless", "Entry", "Executed", "Guarded", "Instruction",
    "Launched", "Lying", "MemoryFault", "Module", "PTXError", "ParseError", "Position",
    "Started", "StepLimit", "Stretches", "UnknownOpcode", "offset", "parse", "run", "statics",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names alone."""
    return __all__
