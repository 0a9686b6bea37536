"""Machine code as the compiler leaves it: read from cubins, with no tool of NVIDIA's."""

from . import elf, encoding, flow, hot_loop
from .decode import Instruction, Unknown, decode, instructions, placed
from .hot_loop import hot_words, machine_loop, thread_index_reads, tile_loop, tile_words, timeline
from .operands import collected, operand_cycles

__all__ = [
    "Instruction", "Unknown", "collected", "decode", "elf", "encoding", "flow", "hot_loop",
    "hot_words", "instructions", "machine_loop", "operand_cycles", "placed", "thread_index_reads",
    "tile_loop", "tile_words", "timeline",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names, whether or not their modules are loaded."""
    return __all__
