"""What a kernel costs, counted: its memory accesses by warp, its instructions, its occupancy.

Pure functions on addresses, parsed PTX and the compiler's report; none needs a GPU.
"""

from .loops import loops
from .mix import Mix, fma_to_load_share, instruction_mix
from .occupancy import Occupancy, occupancy
from .roofline import Placement, compulsory_bytes, placement, sgemm_flop, traced_bytes
from .sectors import LINE_BYTES, SECTOR_BYTES, cache_lines, ideal_sectors, sectors
from .warps import by_warp

__all__ = [
    "LINE_BYTES", "Mix", "Occupancy", "Placement", "SECTOR_BYTES", "by_warp", "cache_lines",
    "compulsory_bytes", "fma_to_load_share", "ideal_sectors", "instruction_mix", "loops",
    "occupancy", "placement", "sectors", "sgemm_flop", "traced_bytes",
]  # fmt: skip
