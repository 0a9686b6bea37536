"""Machine code of compute capability 9.0: read, reordered, and proved to do what it did.

`decode` says what an instruction reads and writes, `hazards` what the hardware leaves to the
compiler, `shape` finds the outer products of a loop, `schedule` their new order, `rewrite` makes
it, and `prove` lets nothing pass that is not equal. It needs neither a GPU nor a tool of NVIDIA's.
"""

from anywarp.sass import Unknown, elf, instructions

from .list_schedule import Plan
from .prove import Different, prove
from .rewrite import main_loops, rewrite
from .shape import Refused

__all__ = ["Different", "Plan", "Refused", "Unknown", "elf", "instructions", "main_loops"]
__all__ += ["prove", "rewrite"]
