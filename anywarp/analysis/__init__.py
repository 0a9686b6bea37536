"""What a kernel costs, counted: its memory accesses by warp, its instructions, its occupancy.

Pure functions on addresses, parsed PTX and the compiler's report; none needs a GPU.
"""

from ..ptx.arithmetic.floats import fma32
from ..ptx.arithmetic.tensor_core import tensor_core
from ..ptx.memory.swizzle import swizzled
from ..ptx.warps.descriptor import Descriptor, tile_addresses
from .banks import BANK_BYTES, BANKS, bank_conflicts, ideal_wavefronts, wavefront_of, wavefronts
from .fragments import Fragment, fragments
from .loops import loops
from .mix import Mix, fma_to_load_share, instruction_class, instruction_mix
from .occupancy import REGISTER_FILE, SCHEDULERS, SMS, Occupancy, blocks_by_registers, occupancy
from .pipe import (
    copy_wavefronts,
    global_wavefronts,
    ideal_global_wavefronts,
    l1_wavefronts,
    local_wavefronts,
    tag_banks,
    tag_wavefronts,
)
from .sectors import KIB, LINE_BYTES, SECTOR_BYTES, cache_lines, ideal_sectors, sectors
from .warps import LANES, by_warp, whole_mask

__all__ = [
    "BANKS", "BANK_BYTES", "KIB", "LANES", "LINE_BYTES", "REGISTER_FILE", "SCHEDULERS",
    "SECTOR_BYTES", "SMS", "Descriptor", "Fragment", "Mix", "Occupancy", "bank_conflicts",
    "blocks_by_registers", "by_warp", "cache_lines", "copy_wavefronts", "fma32",
    "fma_to_load_share", "fragments", "global_wavefronts", "ideal_global_wavefronts",
    "ideal_sectors", "ideal_wavefronts", "instruction_class", "instruction_mix",
    "l1_wavefronts", "local_wavefronts", "loops", "occupancy", "sectors", "swizzled", "tag_banks",
    "tag_wavefronts", "tensor_core", "tile_addresses", "wavefront_of", "wavefronts", "whole_mask",
]  # fmt: skip


def __dir__() -> list[str]:
    """The public names, whether or not their modules are loaded."""
    return __all__
