"""What a kernel costs, counted: its memory accesses by warp, its instructions, its occupancy.

Pure functions on addresses, parsed PTX and the compiler's report; none needs a GPU.
"""

from ..ptx.descriptor import Descriptor, tile_addresses
from ..ptx.swizzle import swizzled
from ..ptx.tensor_core import tensor_core
from .banks import BANK_BYTES, BANKS, bank_conflicts, ideal_wavefronts, wavefront_of, wavefronts
from .fragments import Fragment, fragments
from .latency import load_gbs, multiply_add_tflops
from .loops import loops
from .mix import Mix, fma_to_load_share, instruction_mix
from .occupancy import Occupancy, occupancy
from .operands import Operands, fma_operands, operand_cycles
from .pipe import copy_wavefronts, global_wavefronts, ideal_global_wavefronts, local_wavefronts
from .roofline import (
    Placement,
    arithmetic_peak,
    compulsory_bytes,
    placement,
    sgemm_flop,
    traced_bytes,
)
from .sass import machine_loop, thread_index_reads, timeline
from .sectors import LINE_BYTES, SECTOR_BYTES, cache_lines, ideal_sectors, sectors
from .warps import LANES, by_warp

__all__ = [
    "BANKS",
    "BANK_BYTES",
    "LANES",
    "LINE_BYTES",
    "SECTOR_BYTES",
    "Descriptor",
    "Fragment",
    "Mix",
    "Occupancy",
    "Operands",
    "Placement",
    "arithmetic_peak",
    "bank_conflicts",
    "by_warp",
    "cache_lines",
    "compulsory_bytes",
    "copy_wavefronts",
    "fma_operands",
    "fma_to_load_share",
    "fragments",
    "global_wavefronts",
    "ideal_global_wavefronts",
    "ideal_sectors",
    "ideal_wavefronts",
    "instruction_mix",
    "load_gbs",
    "local_wavefronts",
    "loops",
    "machine_loop",
    "multiply_add_tflops",
    "occupancy",
    "operand_cycles",
    "placement",
    "sectors",
    "sgemm_flop",
    "swizzled",
    "tensor_core",
    "thread_index_reads",
    "tile_addresses",
    "timeline",
    "traced_bytes",
    "wavefront_of",
    "wavefronts",
]  # fmt: skip
