"""What memory accesses cost: pure NumPy on addresses, grouped by warp."""

from .banks import BANK_BYTES, BANKS, bank_conflicts, ideal_wavefronts, wavefront_of, wavefronts
from .sectors import LINE_BYTES, SECTOR_BYTES, cache_lines, ideal_sectors, sectors
from .warps import LANES, by_warp

__all__ = ["BANKS", "BANK_BYTES", "LANES", "LINE_BYTES", "SECTOR_BYTES", "bank_conflicts",
           "by_warp", "cache_lines", "ideal_sectors", "ideal_wavefronts", "sectors",
           "wavefront_of", "wavefronts"]
