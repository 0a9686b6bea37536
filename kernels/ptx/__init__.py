"""A PTX interpreter: the kernels of the book without a GPU.

    module = parse(text)
    run(module.entries["sgemm"], grid, block, args)

It needs NumPy and nothing of the rest of the project.
"""

from .errors import Deadlock, MemoryFault, ParseError, PTXError, StepLimit, UnknownOpcode
from .events import Access, Barrier, Executed, Guarded, Launched
from .machine import decode, run
from .parser import parse
from .syntax import Entry, Instruction, Module, Param, Position

__all__ = [
    "Access",
    "Barrier",
    "Deadlock",
    "Entry",
    "Executed",
    "Guarded",
    "Instruction",
    "Launched",
    "MemoryFault",
    "Module",
    "PTXError",
    "Param",
    "ParseError",
    "Position",
    "StepLimit",
    "UnknownOpcode",
    "decode",
    "parse",
    "run",
]
